export type Theme = 'system' | 'light' | 'dark';

const storageKey = 'millrace.theme';

export function storedTheme(): Theme {
  const stored = globalThis.localStorage.getItem(storageKey);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

const dark = globalThis.matchMedia('(prefers-color-scheme: dark)');

/** Always set: browsers do not repaint inherited colours when only the system preference changes. */
function applyColorScheme(theme: Theme): void {
  const shown = theme === 'system' ? (dark.matches ? 'dark' : 'light') : theme;
  document.documentElement.dataset['theme'] = shown;
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') globalThis.localStorage.removeItem(storageKey);
  else globalThis.localStorage.setItem(storageKey, theme);
  applyColorScheme(theme);
}

/** Light instead of dark, or dark instead of light. */
export function toggleTheme(): void {
  applyTheme(document.documentElement.dataset['theme'] === 'dark' ? 'light' : 'dark');
}

/** Applies the stored theme and follows the system while none is stored. */
export function followTheme(): void {
  applyColorScheme(storedTheme());
  dark.addEventListener('change', () => applyColorScheme(storedTheme()));
}
