"""``google.colab.patches``: pictures of OpenCV in a notebook."""

from __future__ import annotations

from typing import Any

from tpucompat.base.late import late

# Not every machine has them.
Image = late("PIL.Image")
display = late("IPython.display")


def cv2_imshow(a: Any) -> None:
    """Shows a picture below the cell.

    Args:
      a: An array of shape (height, width), or (height, width, 3 or 4) with the colours as OpenCV has them:
        blue, green, red. Values from 0 to 255.
    """
    picture = a.clip(0, 255).astype("uint8")
    if picture.ndim == 3:
        order = [2, 1, 0, 3] if picture.shape[2] == 4 else [2, 1, 0]
        picture = picture[:, :, order]
    display.display(Image.fromarray(picture))
