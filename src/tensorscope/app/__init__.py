"""The window: docks, actions, settings, theme, languages, export."""
