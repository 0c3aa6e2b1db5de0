export type Theme = 'system' | 'light' | 'dark';

const place = 'millrace.theme';

export function storedTheme(): Theme {
  const stored = globalThis.localStorage.getItem(place);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

/** The styles give each colour two values; which of them holds is the browser's choice unless the person made one. */
export function applyTheme(theme: Theme): void {
  const { dataset } = document.documentElement;
  if (theme === 'system') {
    delete dataset['theme'];
    globalThis.localStorage.removeItem(place);
  } else {
    dataset['theme'] = theme;
    globalThis.localStorage.setItem(place, theme);
  }
}
