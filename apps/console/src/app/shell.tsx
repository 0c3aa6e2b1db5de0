import { useQuery } from '@tanstack/react-query';
import { Outlet } from '@tanstack/react-router';
import { use, useCallback, useMemo, useState, type ReactNode } from 'react';
import { Problem } from '../ui/states.tsx';
import { AfterLoad } from './after-load.tsx';
import { BackgroundContext } from './background.ts';
import { LiveUpdates } from './live/live-updates.tsx';
import { CommandPalette } from './palette/command-palette.tsx';
import { ShortcutList } from './shortcuts/shortcut-list.tsx';
import { useShortcuts } from './shortcuts/use-shortcuts.ts';
import { Sidebar } from './sidebar.tsx';
import {
  SessionProvider,
  usePerson,
  useOrgContext,
  useInstallation,
  useSessionIfAny,
  meQuery,
  type Person,
} from '../api/session.tsx';

const noMemberships: Extract<Person, { state: 'in' }>['memberships'] = [];

/** Loads the user, then shows the navigation around the page. */
export function Shell() {
  const { person, error, again } = usePerson();
  const memberships = person.state === 'in' ? person.memberships : noMemberships;
  const [place, go] = useOrgContext(person);
  const me = useQuery(meQuery(place));
  const failure = error ?? me.error;
  const background = use(BackgroundContext);
  const frame = (
    <Frame>
      {failure !== null && (
        <div className="mb-4">
          <Problem error={failure} doing="load your account" retry={() => void again()} />
        </div>
      )}
      <Outlet />
    </Frame>
  );
  if (place === null || me.data === undefined) return frame;
  // Remounts the page, so that it never shows data or secrets of another organisation or mode.
  const where = `${place.organisationId} ${place.mode}`;
  return (
    <SessionProvider key={where} place={place} me={me.data} memberships={memberships} go={go}>
      <LiveUpdates />
      <AfterLoad>{background}</AfterLoad>
      {frame}
    </SessionProvider>
  );
}

function Frame({ children }: Readonly<{ children: ReactNode }>) {
  const [open, setOpen] = useState<'search' | 'shortcuts' | null>(null);
  const commands = useMemo(
    () => ({ search: () => setOpen('search'), shortcuts: () => setOpen('shortcuts') }),
    [],
  );
  const setPaletteOpen = useCallback((shown: boolean) => setOpen(shown ? 'search' : null), []);
  useShortcuts(commands);
  const session = useSessionIfAny();
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[14rem_1fr]">
      <a
        href="#content"
        className="bg-accent text-on-accent sr-only z-50 rounded px-3 py-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to content
      </a>
      <Sidebar onSearch={commands.search} />
      <div className="min-w-0">
        <DemoBanner />
        {session?.place.mode === 'test' && (
          <div className="bg-warn-soft px-4 py-1.5 text-center text-xs">
            <strong>Test mode.</strong> Machines and models are simulated and free.{' '}
            <button type="button" className="underline" onClick={() => session.go({ mode: 'live' })}>
              Switch to live mode
            </button>
          </div>
        )}
        <main id="content" tabIndex={-1} className="mx-auto max-w-6xl px-4 py-6 outline-none sm:px-6">
          {children}
        </main>
      </div>
      <CommandPalette open={open === 'search'} onOpen={setPaletteOpen} onShowShortcuts={commands.shortcuts} />
      <ShortcutList open={open === 'shortcuts'} onClose={() => setOpen(null)} />
    </div>
  );
}

/** Shown on every page of a demo, because its amounts look like real money. */
function DemoBanner() {
  const { data: installation } = useInstallation();
  if (installation?.demo !== true) return null;
  return (
    <div role="note" className="bg-accent-soft px-4 py-1.5 text-center text-xs">
      <strong>Demo.</strong> Machines are simulated, and all amounts are play money.
    </div>
  );
}
