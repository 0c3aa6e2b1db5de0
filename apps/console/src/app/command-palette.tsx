import { Autocomplete } from '@base-ui/react/autocomplete';
import { Dialog } from '@base-ui/react/dialog';
import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { visibleNavGroups, type NavItem } from './navigation.ts';
import { useSessionIfAny } from '../api/session.tsx';

/** Opens with Ctrl K or Cmd K. */
export function CommandPalette(props: Readonly<{ open: boolean; onOpen: (open: boolean) => void }>) {
  const { open, onOpen } = props;
  const session = useSessionIfAny();
  const navigate = useNavigate();
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      onOpen(true);
    };
    globalThis.addEventListener('keydown', listen);
    return () => globalThis.removeEventListener('keydown', listen);
  }, [onOpen]);
  const places = visibleNavGroups(session === null ? () => false : session.may).flatMap(
    ({ places: each }) => each,
  );
  const go = (place: NavItem): void => {
    onOpen(false);
    void navigate({ to: place.to });
  };
  return (
    <Dialog.Root open={open} onOpenChange={onOpen}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-veil" />
        <Dialog.Popup
          aria-label="Go to a page"
          className="border-line bg-surface fixed top-[15vh] left-1/2 z-40 w-[calc(100vw-2rem)] max-w-md -translate-x-1/2 overflow-hidden rounded-lg border shadow-xl"
        >
          <Autocomplete.Root
            inline
            open
            items={[...places]}
            autoHighlight="always"
            itemToStringValue={(place: NavItem) => `${place.label} ${place.words ?? ''}`}
          >
            <Autocomplete.Input
              aria-label="Go to a page…"
              placeholder="Go to a page…"
              className="border-line w-full border-b bg-transparent px-4 py-3 text-base outline-none"
            />
            <Autocomplete.Empty className="text-soft px-4 empty:hidden py-3">
              No pages match.
            </Autocomplete.Empty>
            <Autocomplete.List className="max-h-80 overflow-y-auto p-1">
              {(place: NavItem) => (
                <Autocomplete.Item
                  key={place.to}
                  value={place}
                  onClick={() => go(place)}
                  className="data-[highlighted]:bg-raised flex items-center gap-2.5 rounded px-3 py-2 outline-none"
                >
                  <place.icon aria-hidden className="text-soft size-4" />
                  {place.label}
                </Autocomplete.Item>
              )}
            </Autocomplete.List>
          </Autocomplete.Root>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
