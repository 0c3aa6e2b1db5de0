import { useQuery } from '@tanstack/react-query';
import { Link, Outlet } from '@tanstack/react-router';
import { Menu as MenuIcon, Search, X } from 'lucide-react';
import { useState, type ReactNode } from 'react';
import { clientFor } from '../api/client.ts';
import { Logo } from '../ui/logo.tsx';
import { Problem } from '../ui/states.tsx';
import { LiveUpdates } from './live-updates.tsx';
import { visibleNavGroups } from './navigation.ts';
import { CommandPalette } from './command-palette.tsx';
import { PersonMenu } from './person-menu.tsx';
import {
  SessionProvider,
  usePerson,
  useOrgContext,
  useSessionIfAny,
  type Me,
  type Person,
} from '../api/session.tsx';

const noMemberships: Extract<Person, { state: 'in' }>['memberships'] = [];

/** Loads the user, then shows the navigation around the page. */
export function Shell() {
  const { person, error, again } = usePerson();
  const memberships = person.state === 'in' ? person.memberships : noMemberships;
  const [place, go] = useOrgContext(memberships);
  const me = useQuery({
    queryKey: [place?.organisationId, place?.mode, 'me'],
    queryFn: async (): Promise<Me> => {
      if (place === null) throw new Error('No organisation is selected.');
      return clientFor(place).me.get();
    },
    enabled: place !== null,
    staleTime: 30_000,
  });
  const failure = error ?? me.error;
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
      {frame}
    </SessionProvider>
  );
}

function Frame({ children }: Readonly<{ children: ReactNode }>) {
  const [menuOpen, setMenuOpen] = useState(false);
  const [paletteOpen, setPaletteOpen] = useState(false);
  const session = useSessionIfAny();
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[14rem_1fr]">
      <a
        href="#content"
        className="bg-accent text-on-accent sr-only z-50 rounded px-3 py-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to content
      </a>
      <aside className="border-line bg-surface sticky top-0 z-30 border-b lg:h-dvh lg:overflow-y-auto lg:border-r lg:border-b-0">
        <div className="flex items-center justify-between gap-2 px-4 py-3">
          <Link to="/" className="flex items-center gap-2 text-base font-semibold">
            <Logo /> Millrace
          </Link>
          <button
            type="button"
            className="hover:bg-raised rounded p-1.5 lg:hidden"
            aria-expanded={menuOpen}
            aria-controls="navigation"
            aria-label={menuOpen ? 'Close menu' : 'Open menu'}
            onClick={() => setMenuOpen(!menuOpen)}
          >
            {menuOpen ? <X aria-hidden className="size-5" /> : <MenuIcon aria-hidden className="size-5" />}
          </button>
        </div>
        <div
          id="navigation"
          className={`${menuOpen ? 'block' : 'hidden'} max-h-[calc(100dvh-3.5rem)] overflow-y-auto px-2 pb-4 lg:block lg:max-h-none`}
        >
          <PersonMenu />
          <button
            type="button"
            onClick={() => setPaletteOpen(true)}
            className="border-line text-soft hover:bg-raised mx-2 my-2 flex w-[calc(100%-1rem)] items-center gap-2 rounded-md border px-2.5 py-1.5"
          >
            <Search aria-hidden className="size-4" />
            <span className="flex-1 text-left">Go to…</span>
            <kbd className="text-xs">Ctrl K</kbd>
          </button>
          <Navigation onGo={() => setMenuOpen(false)} />
        </div>
      </aside>
      <div className="min-w-0">
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
      <CommandPalette open={paletteOpen} onOpen={setPaletteOpen} />
    </div>
  );
}

function Navigation({ onGo }: Readonly<{ onGo: () => void }>) {
  const session = useSessionIfAny();
  const groups = visibleNavGroups(session === null ? () => false : session.may);
  return (
    <nav aria-label="Main">
      {groups.map(({ label, places }) => (
        <div key={label} className="mt-3">
          <h2 className="text-soft px-2.5 pb-1 text-xs font-medium">{label}</h2>
          <ul>
            {places.map(({ to, label: words, icon: Icon }) => (
              <li key={to}>
                <Link
                  to={to}
                  onClick={onGo}
                  activeOptions={{
                    exact: to === '/' || to === '/supplier' || to === '/operator',
                    includeSearch: false,
                  }}
                  className="text-soft hover:bg-raised hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:text-accent-strong flex items-center gap-2.5 rounded-md px-2.5 py-1.5 font-medium"
                >
                  <Icon aria-hidden className="size-4" />
                  {words}
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}
