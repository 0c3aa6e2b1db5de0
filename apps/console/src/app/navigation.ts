import type { Scope } from '@millrace/contract/scopes';
import {
  Activity,
  BadgeDollarSign,
  Boxes,
  BrainCircuit,
  Building2,
  ChartColumn,
  CircleUser,
  ClipboardList,
  Cloud,
  Cpu,
  Gauge,
  HardDrive,
  KeyRound,
  LayoutDashboard,
  MessageSquare,
  Network,
  Plug,
  ReceiptText,
  ScrollText,
  Server,
  ShieldCheck,
  Store,
  Tags,
  TerminalSquare,
  Truck,
  Users,
  Wallet,
  Webhook,
  Wrench,
  type LucideIcon,
} from 'lucide-react';

export interface NavPage {
  readonly to: string;
  readonly label: string;
  /** Further search terms for the command palette. */
  readonly words?: string;
}

export interface NavItem extends NavPage {
  readonly icon: LucideIcon;
  /** Scope that shows this entry; null shows it to everyone. */
  readonly needs: Scope | null;
  /** Alternative scope that also shows it. */
  readonly orNeeds?: Scope;
  /** Pages without an entry of their own, reached from this one. The command palette lists them. */
  readonly pages?: readonly NavPage[];
  /** Further paths for which this entry is the active one. */
  readonly paths?: readonly string[];
}

export interface NavGroup {
  readonly label: string;
  readonly places: readonly NavItem[];
}

export type AreaId = 'tenant' | 'account' | 'supplier' | 'operator';

export interface NavArea {
  readonly id: AreaId;
  readonly label: string;
  readonly icon: LucideIcon;
  readonly groups: readonly NavGroup[];
}

export const MAX_AREA_ENTRIES = 9;

const tenantGroups: readonly NavGroup[] = [
  {
    label: 'Rent',
    places: [
      {
        to: '/overview',
        label: 'Overview',
        icon: LayoutDashboard,
        needs: 'organisation:read',
        words: 'home dashboard running cost activity',
      },
      {
        to: '/catalog',
        label: 'Catalog',
        icon: Cpu,
        needs: null,
        words: 'gpu offers prices availability',
        paths: ['/', '/rent'],
      },
      {
        to: '/rentals',
        label: 'Rentals',
        icon: Server,
        needs: 'rentals:read',
        words: 'machines vm bare metal',
      },
      { to: '/volumes', label: 'Volumes', icon: HardDrive, needs: 'volumes:read', words: 'storage nfs' },
      {
        to: '/marketplace',
        label: 'Marketplace',
        icon: Store,
        needs: 'marketplace:read',
        words: 'suppliers',
      },
      { to: '/instances', label: 'Instances', icon: Boxes, needs: 'marketplace:read', words: 'marketplace' },
    ],
  },
  {
    label: 'Inference',
    places: [
      { to: '/models', label: 'Models', icon: BrainCircuit, needs: null, words: 'prices tokens' },
      {
        to: '/playground',
        label: 'Playground',
        icon: MessageSquare,
        needs: 'inference:write',
        words: 'chat image speech',
      },
      { to: '/usage', label: 'Usage', icon: ChartColumn, needs: 'usage:read', words: 'requests tokens cost' },
    ],
  },
];

const accountGroups: readonly NavGroup[] = [
  {
    label: 'Money',
    places: [
      {
        to: '/money',
        label: 'Balance',
        icon: Wallet,
        needs: 'billing:read',
        words: 'top up credit burn runway',
        pages: [{ to: '/ledger', label: 'Ledger', words: 'charges entries' }],
      },
      { to: '/budgets', label: 'Budgets', icon: Gauge, needs: 'billing:read', words: 'limits caps' },
      { to: '/invoices', label: 'Invoices', icon: ReceiptText, needs: 'billing:read', words: 'pdf' },
    ],
  },
  {
    label: 'Organisation',
    places: [
      { to: '/keys', label: 'API keys', icon: KeyRound, needs: 'api-keys:read', words: 'token secret' },
      {
        to: '/ssh-keys',
        label: 'SSH keys',
        icon: TerminalSquare,
        needs: 'ssh-keys:read',
        words: 'public key login',
      },
      {
        to: '/webhooks',
        label: 'Webhooks',
        icon: Webhook,
        needs: 'webhooks:read',
        words: 'events deliveries',
      },
      { to: '/team', label: 'Team', icon: Users, needs: 'members:read', words: 'members invitations roles' },
      {
        to: '/audit',
        label: 'Audit log',
        icon: ScrollText,
        needs: 'audit:read',
        words: 'activity history changes',
      },
    ],
  },
  {
    label: 'You',
    places: [
      {
        to: '/account',
        label: 'Account and security',
        icon: ShieldCheck,
        needs: 'organisation:read',
        words: 'profile password passkey sessions notifications keyboard shortcuts',
      },
    ],
  },
];

const supplierGroups: readonly NavGroup[] = [
  {
    label: 'Supplier',
    places: [
      {
        to: '/supplier',
        label: 'Overview',
        icon: LayoutDashboard,
        needs: 'supplier:read',
        // Owners apply here to become a supplier.
        orNeeds: 'organisation:write',
        words: 'supplier become a supplier apply',
      },
      {
        to: '/supplier/machines',
        label: 'My machines',
        icon: Server,
        needs: 'supplier:read',
        words: 'supplier hosts nodes join',
      },
      {
        to: '/supplier/earnings',
        label: 'Earnings',
        icon: BadgeDollarSign,
        needs: 'supplier:read',
        words: 'payouts statements',
        paths: ['/supplier/statements'],
      },
    ],
  },
];

const operatorGroups: readonly NavGroup[] = [
  {
    label: 'Infrastructure',
    places: [
      {
        to: '/operator',
        label: 'Overview',
        icon: LayoutDashboard,
        needs: 'admin:read',
        words: 'operator revenue utilisation faults',
        pages: [
          { to: '/operator/health', label: 'Health', words: 'status problems alerts processes engines' },
        ],
      },
      {
        to: '/operator/fleet',
        label: 'Fleet',
        icon: Network,
        needs: 'admin:read',
        words: 'nodes gpus drain map',
        paths: ['/operator/nodes'],
        pages: [{ to: '/operator/maintenance', label: 'Maintenance', words: 'windows announce' }],
      },
      {
        to: '/operator/rentals',
        label: 'All rentals',
        icon: Server,
        needs: 'admin:read',
        words: 'instances reservation requests all organisations',
      },
      {
        to: '/operator/providers',
        label: 'Providers',
        icon: Plug,
        needs: 'admin:read',
        words: 'clusters regions',
      },
      {
        to: '/operator/models',
        label: 'Model catalog',
        icon: BrainCircuit,
        needs: 'admin:read',
        words: 'deployments',
      },
    ],
  },
  {
    label: 'Business',
    places: [
      { to: '/operator/prices', label: 'Prices', icon: Tags, needs: 'admin:read' },
      {
        to: '/operator/organisations',
        label: 'Organisations',
        icon: Building2,
        needs: 'admin:read',
        words: 'grant refund suspend',
      },
      {
        to: '/operator/suppliers',
        label: 'Suppliers',
        icon: ClipboardList,
        needs: 'admin:read',
        words: 'approvals',
      },
      {
        to: '/operator/auditor',
        label: 'Auditor',
        icon: Activity,
        needs: 'admin:read',
        words: 'drift checks report',
      },
    ],
  },
];

/** All pages by area, for navigation, command palette and browser tests. */
export const navAreas: readonly NavArea[] = [
  { id: 'tenant', label: 'Cloud', icon: Cloud, groups: tenantGroups },
  { id: 'account', label: 'Account', icon: CircleUser, groups: accountGroups },
  { id: 'supplier', label: 'Supplier', icon: Truck, groups: supplierGroups },
  { id: 'operator', label: 'Operator', icon: Wrench, groups: operatorGroups },
];

/** The areas and entries that the caller's scopes allow. */
export function visibleAreas(may: (scope: Scope) => boolean): readonly NavArea[] {
  const isVisible = ({ needs, orNeeds }: NavItem): boolean =>
    needs === null || may(needs) || (orNeeds !== undefined && may(orNeeds));
  return navAreas
    .map((area) => ({
      ...area,
      groups: area.groups
        .map((group) => ({ ...group, places: group.places.filter(isVisible) }))
        .filter(({ places }) => places.length > 0),
    }))
    .filter(({ groups }) => groups.length > 0);
}

export function entriesOf({ groups }: NavArea): readonly NavItem[] {
  return groups.flatMap(({ places }) => places);
}

function pathsOf({ to, paths = [], pages = [] }: NavItem): readonly string[] {
  return [to, ...paths, ...pages.map((page) => page.to)];
}

/** Area and entry of a page: the entry with the longest path that contains the page's path. */
export function findActive(pathname: string): { readonly area: AreaId; readonly entry: NavItem } | null {
  const found = navAreas
    .flatMap((area) =>
      entriesOf(area).flatMap((entry) => pathsOf(entry).map((path) => ({ area: area.id, entry, path }))),
    )
    .filter(({ path }) => pathname === path || pathname.startsWith(`${path}/`))
    .toSorted((one, other) => other.path.length - one.path.length);
  return found[0] ?? null;
}
