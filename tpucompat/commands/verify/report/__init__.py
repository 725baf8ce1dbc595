"""What is shown of a comparison: on a terminal, as JSON, as a page of HTML."""
