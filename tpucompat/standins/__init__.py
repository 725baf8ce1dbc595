"""What old scripts knew of Keras, NumPy, pandas, Python, Colab and Kaggle."""
