import type { Scope } from '@millrace/contract/scopes';
import {
  ArrowLeftRight,
  BellRing,
  CreditCard,
  FlaskConical,
  Keyboard,
  KeyRound,
  LogIn,
  LogOut,
  Plus,
  SunMoon,
  UserPlus,
  type LucideIcon,
} from 'lucide-react';
import type { Session } from '../../api/session.tsx';
import { entriesOf, visibleAreas } from '../navigation.ts';
import type { Theme } from '../theme.ts';
import type { PaletteItem } from './palette-items.ts';

type Caller = Pick<Session, 'may' | 'me' | 'memberships' | 'place' | 'go'>;

interface ActionContext {
  /** Null for visitors. */
  readonly session: Caller | null;
  readonly setTheme: (theme: Theme) => void;
  readonly signOut: () => void;
  readonly showShortcuts: () => void;
}

const actionGroup = 'Actions';

interface LinkedAction {
  readonly label: string;
  readonly icon: LucideIcon;
  readonly needs: Scope;
  readonly href: string;
  readonly terms?: readonly string[];
}

/** `#create` opens the form of the page. */
const linkedActions: readonly LinkedAction[] = [
  {
    label: 'Rent a machine',
    icon: Plus,
    needs: 'rentals:write',
    href: '/catalog',
    terms: ['new rental', 'create', 'gpu'],
  },
  {
    label: 'Rent an instance on the marketplace',
    icon: Plus,
    needs: 'marketplace:write',
    href: '/marketplace',
    terms: ['new', 'create'],
  },
  {
    label: 'Create volume',
    icon: Plus,
    needs: 'volumes:write',
    href: '/volumes#create',
    terms: ['new storage'],
  },
  {
    label: 'Create API key',
    icon: KeyRound,
    needs: 'api-keys:write',
    href: '/keys#create',
    terms: ['new token'],
  },
  {
    label: 'Add SSH key',
    icon: KeyRound,
    needs: 'ssh-keys:write',
    href: '/ssh-keys',
    terms: ['new public key'],
  },
  { label: 'Create webhook', icon: Plus, needs: 'webhooks:write', href: '/webhooks#create', terms: ['new'] },
  {
    label: 'Invite member',
    icon: UserPlus,
    needs: 'members:write',
    href: '/team#create',
    terms: ['add user'],
  },
  {
    label: 'Top up balance',
    icon: CreditCard,
    needs: 'billing:write',
    href: '/money',
    terms: ['credit', 'pay', 'deposit'],
  },
];

/** Everything that the palette offers besides resources: actions first, then pages. */
export function actionsAndPages(context: ActionContext): readonly PaletteItem[] {
  const { session } = context;
  const actions = session === null ? visitorActions() : memberActions(session, context);
  return [...actions, ...themeActions(context), ...pagesFor(session)];
}

function action(
  label: string,
  icon: LucideIcon,
  target: PaletteItem['target'],
  terms: readonly string[] = [],
): PaletteItem {
  return { id: `${actionGroup} ${label}`, group: actionGroup, label, icon, terms, target };
}

function visitorActions(): readonly PaletteItem[] {
  return [
    action('Sign in', LogIn, { href: '/sign-in' }, ['log in']),
    action('Sign up', UserPlus, { href: '/sign-up' }, ['register', 'create account']),
  ];
}

function memberActions(session: Caller, context: ActionContext): readonly PaletteItem[] {
  const { may, me, memberships, place, go } = session;
  const other = place.mode === 'test' ? 'live' : 'test';
  return [
    ...linkedActions
      .filter(({ needs }) => may(needs))
      .map(({ label, icon, href, terms }) => action(label, icon, { href }, terms)),
    action(`Switch to ${other} mode`, FlaskConical, { run: () => go({ mode: other }) }),
    ...memberships
      .filter(({ organisation }) => organisation.id !== me.organisation.id)
      .map(({ organisation: { id, name } }) =>
        action(`Switch to ${name}`, ArrowLeftRight, { run: () => go({ organisationId: id }) }, [
          'organisation',
        ]),
      ),
    action('Notification settings', BellRing, { href: '/account' }, ['browser', 'email']),
    action('Show keyboard shortcuts', Keyboard, { run: context.showShortcuts }, ['help', 'keys']),
    action('Sign out', LogOut, { run: context.signOut }, ['log out', 'end session']),
  ];
}

function themeActions({ setTheme }: ActionContext): readonly PaletteItem[] {
  const themes = ['light', 'dark', 'system'] as const;
  return themes.map((theme) =>
    action(`Use ${theme} theme`, SunMoon, { run: () => setTheme(theme) }, [
      'switch',
      'colours',
      'appearance',
    ]),
  );
}

function pagesFor(session: Caller | null): readonly PaletteItem[] {
  return visibleAreas(session === null ? () => false : session.may).flatMap((area) =>
    entriesOf(area).flatMap(({ icon, pages = [], ...entry }) =>
      [entry, ...pages].map(({ to, label, words = '' }) => ({
        id: `Pages ${to}`,
        group: 'Pages',
        label,
        ...(area.id === 'tenant' ? {} : { detail: area.label }),
        terms: [words],
        icon,
        target: { href: to },
      })),
    ),
  );
}
