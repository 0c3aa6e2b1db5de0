import { Link, useLocation } from '@tanstack/react-router';
import { Menu as MenuIcon, Search, X } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useSessionIfAny } from '../api/session.tsx';
import { Logo } from '../ui/logo.tsx';
import {
  entriesOf,
  findActive,
  visibleAreas,
  type AreaId,
  type NavArea,
  type NavItem,
} from './navigation.ts';
import { PersonMenu } from './person-menu.tsx';

/** Areas and their entries. Below 1024 px they are behind a menu button, beside the name of the active entry. */
export function Sidebar({ onSearch }: Readonly<{ onSearch: () => void }>) {
  const [menuOpen, setMenuOpen] = useState(false);
  const session = useSessionIfAny();
  const pathname = useLocation({ select: (location) => location.pathname });
  const active = findActive(pathname);
  const areas = visibleAreas(session === null ? () => false : session.may);
  const area = areas.find(({ id }) => id === active?.area) ?? areas[0];
  const close = (): void => setMenuOpen(false);
  return (
    <aside className="border-line bg-surface sticky top-0 z-30 border-b lg:h-dvh lg:overflow-y-auto lg:border-r lg:border-b-0">
      <div className="flex items-center gap-2 px-4 py-3">
        <Link to="/" className="flex shrink-0 items-center gap-2 text-base font-semibold">
          <Logo /> Millrace
        </Link>
        <span className="text-soft min-w-0 flex-1 truncate lg:hidden">
          {active !== null &&
            `${active.area === 'tenant' ? '' : `${area?.label ?? ''}: `}${active.entry.label}`}
        </span>
        <button
          type="button"
          className="hover:bg-raised rounded p-1.5 lg:hidden"
          aria-label="Search"
          onClick={onSearch}
        >
          <Search aria-hidden className="size-5" />
        </button>
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
          onClick={onSearch}
          className="border-line text-soft hover:bg-raised mx-2 my-2 hidden w-[calc(100%-1rem)] items-center gap-2 rounded-md border px-2.5 py-1.5 lg:flex"
        >
          <Search aria-hidden className="size-4" />
          <span className="flex-1 text-left">Search…</span>
          <kbd className="text-xs">Ctrl K</kbd>
        </button>
        {areas.length > 1 && <AreaSwitcher areas={areas} active={area?.id} onGo={close} />}
        {area !== undefined && (
          <Entries key={area.id} area={area} active={active?.entry} menuOpen={menuOpen} onGo={close} />
        )}
      </div>
    </aside>
  );
}

interface AreaSwitcherProps {
  readonly areas: readonly NavArea[];
  readonly active: AreaId | undefined;
  readonly onGo: () => void;
}

function AreaSwitcher({ areas, active, onGo }: AreaSwitcherProps) {
  return (
    <nav aria-label="Areas" className="mx-2 mt-2">
      <ul className="border-line bg-raised grid grid-cols-2 gap-0.5 rounded-md border p-0.5">
        {areas.map((area) => {
          const { id, label, icon: Icon } = area;
          return (
            <li key={id} className="min-w-0">
              <Link
                to={entriesOf(area)[0]?.to ?? '/'}
                onClick={onGo}
                activeOptions={{ exact: true, includeSearch: false }}
                aria-current={id === active ? 'true' : undefined}
                data-active={id === active ? '' : undefined}
                className="text-soft hover:text-ink data-[active]:bg-surface data-[active]:text-ink flex items-center gap-1.5 rounded px-2 py-1 text-xs font-medium data-[active]:shadow-sm"
              >
                <Icon aria-hidden className="size-3.5" />
                {label}
              </Link>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

interface EntriesProps {
  readonly area: NavArea;
  readonly active: NavItem | undefined;
  readonly menuOpen: boolean;
  readonly onGo: () => void;
}

function Entries({ area, active, menuOpen, onGo }: EntriesProps) {
  const list = useRef<HTMLElement>(null);
  useEffect(() => {
    // Just before the browser lays out the frame, so that it lays out the page once.
    const frame = requestAnimationFrame(() =>
      list.current?.querySelector('[aria-current=page]')?.scrollIntoView({ block: 'nearest' }),
    );
    return () => cancelAnimationFrame(frame);
  }, [active, menuOpen]);
  return (
    <nav ref={list} aria-label={area.label}>
      {area.groups.map(({ label, places }) => (
        <div key={label} className="mt-3">
          <h2 className="text-soft px-2.5 pb-1 text-xs font-medium">{label}</h2>
          <ul>
            {places.map(({ to, label: words, icon: Icon }) => (
              <li key={to}>
                <Link
                  to={to}
                  onClick={onGo}
                  activeOptions={{ exact: true, includeSearch: false }}
                  aria-current={to === active?.to ? 'page' : undefined}
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
