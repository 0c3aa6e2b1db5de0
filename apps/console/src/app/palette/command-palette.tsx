import { Dialog } from '@base-ui/react/dialog';
import { lazy, Suspense, useEffect } from 'react';
import { Loading } from '../../ui/states.tsx';
import { AfterLoad } from '../after-load.tsx';

const loadContent = () => import('./palette-content.tsx');
const PaletteContent = lazy(() =>
  loadContent().then(({ PaletteContent: content }) => ({ default: content })),
);

/** Loads the content before it is opened, so that the first letters typed into it are not lost. */
function ContentLoader() {
  useEffect(() => void loadContent(), []);
  return null;
}

interface CommandPaletteProps {
  readonly open: boolean;
  readonly onOpen: (open: boolean) => void;
  readonly onShowShortcuts: () => void;
}

/** Opens with Ctrl K or Cmd K. */
export function CommandPalette({ open, onOpen, onShowShortcuts }: CommandPaletteProps) {
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      onOpen(true);
    };
    globalThis.addEventListener('keydown', listen);
    return () => globalThis.removeEventListener('keydown', listen);
  }, [onOpen]);
  return (
    <Dialog.Root open={open} onOpenChange={onOpen}>
      <AfterLoad>
        <ContentLoader />
      </AfterLoad>
      <Dialog.Portal>
        <Dialog.Backdrop className="bg-veil fixed inset-0 z-40" />
        <Dialog.Popup
          aria-label="Search"
          className="border-line bg-surface fixed top-[10vh] left-1/2 z-40 w-[calc(100vw-2rem)] max-w-xl -translate-x-1/2 overflow-hidden rounded-lg border shadow-xl"
        >
          <Suspense fallback={<Loading what="search" />}>
            <PaletteContent onClose={() => onOpen(false)} onShowShortcuts={onShowShortcuts} />
          </Suspense>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
