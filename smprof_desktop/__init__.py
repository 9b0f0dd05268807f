"""SMProf Desktop: GPU training profiles, browsed, shown and explained."""
