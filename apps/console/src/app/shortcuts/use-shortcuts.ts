import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { monotonicMs } from '../../api/clock.ts';
import { useSessionIfAny } from '../../api/session.tsx';
import { toggleTheme } from '../theme.ts';
import { shortcutsEnabled } from './shortcut-setting.ts';
import { allowedShortcuts, pressKey, type FirstKey, type ShortcutTarget } from './shortcuts.ts';

/** Elements that use letter keys themselves. Dialogs are included, because a shortcut would leave them. */
const takers =
  'input, textarea, select, [contenteditable=""], [contenteditable=true], [role=dialog], [role=alertdialog], [role=menu], [role=listbox]';

function isTaken(event: KeyboardEvent): boolean {
  const isInside = event.target instanceof Element && event.target.closest(takers) !== null;
  return event.defaultPrevented || event.isComposing || isInside;
}

interface ShortcutCommands {
  readonly search: () => void;
  readonly shortcuts: () => void;
}

export function useShortcuts(commands: ShortcutCommands): void {
  const navigate = useNavigate();
  const session = useSessionIfAny();
  const first = useRef<FirstKey | null>(null);
  useEffect(() => {
    const allowed = allowedShortcuts(session === null ? () => false : session.may);
    const run = (target: ShortcutTarget): void => {
      if ('href' in target) void navigate({ href: target.href });
      else if (target.command === 'theme') toggleTheme();
      else commands[target.command]();
    };
    const listen = (event: KeyboardEvent): void => {
      if (!shortcutsEnabled()) return;
      const { key, ctrlKey, metaKey, altKey } = event;
      const pressed = {
        key,
        hasModifier: ctrlKey || metaKey || altKey,
        isTaken: isTaken(event),
        atMs: monotonicMs(),
      };
      const { shortcut, first: started } = pressKey(pressed, first.current, allowed);
      // Shift and other modifier keys alone do not end a sequence.
      if (!['Shift', 'Control', 'Alt', 'Meta'].includes(key)) first.current = started;
      if (shortcut === null) return;
      event.preventDefault();
      run(shortcut.target);
    };
    globalThis.addEventListener('keydown', listen);
    return () => globalThis.removeEventListener('keydown', listen);
  }, [session, navigate, commands]);
}
