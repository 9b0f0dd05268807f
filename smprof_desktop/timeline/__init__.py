"""The timeline: lane tree, level of detail, scene, draw list, painters, widget."""
