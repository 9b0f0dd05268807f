"""The dashboard: a table of panels and the page that shows them."""
