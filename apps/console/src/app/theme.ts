export type Theme = 'system' | 'light' | 'dark';

const storageKey = 'millrace.theme';

export function storedTheme(): Theme {
  const stored = globalThis.localStorage.getItem(storageKey);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

const dark = globalThis.matchMedia('(prefers-color-scheme: dark)');

/**
 * The styles give each colour two values; the page says which of them hold, also where that is the system's choice: a browser
 * that is told of a new choice by the system alone leaves colours that were inherited as they were.
 */
function applyColorScheme(theme: Theme): void {
  const shown = theme === 'system' ? (dark.matches ? 'dark' : 'light') : theme;
  document.documentElement.dataset['theme'] = shown;
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') globalThis.localStorage.removeItem(storageKey);
  else globalThis.localStorage.setItem(storageKey, theme);
  applyColorScheme(theme);
}

/** Shows what was chosen, and follows the system for as long as nothing was. */
export function followTheme(): void {
  applyColorScheme(storedTheme());
  dark.addEventListener('change', () => applyColorScheme(storedTheme()));
}
