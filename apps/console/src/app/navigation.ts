import type { Scope } from '@millrace/contract/scopes';
import {
  Activity,
  BadgeDollarSign,
  Boxes,
  BrainCircuit,
  Building2,
  CalendarClock,
  ChartColumn,
  ClipboardList,
  Cpu,
  Gauge,
  HardDrive,
  KeyRound,
  MessageSquare,
  Network,
  ReceiptText,
  Scale,
  ScrollText,
  Server,
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

export interface NavItem {
  readonly to: string;
  readonly label: string;
  readonly icon: LucideIcon;
  /** Scope that shows this entry; null shows it to everyone. */
  readonly needs: Scope | null;
  /** Alternative scope that also shows it. */
  readonly orNeeds?: Scope;
  /** Further search terms for the command palette. */
  readonly words?: string;
}

export interface NavGroup {
  readonly label: string;
  readonly places: readonly NavItem[];
}

/** All pages, for navigation, command palette and browser tests. */
export const navGroups: readonly NavGroup[] = [
  {
    label: 'Rent',
    places: [
      { to: '/', label: 'Catalog', icon: Cpu, needs: null, words: 'gpu offers prices availability' },
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
  {
    label: 'Money',
    places: [
      {
        to: '/money',
        label: 'Balance',
        icon: Wallet,
        needs: 'billing:read',
        words: 'top up credit burn runway',
      },
      { to: '/ledger', label: 'Ledger', icon: Scale, needs: 'billing:read', words: 'charges entries' },
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
    label: 'Supplier',
    places: [
      {
        to: '/supplier',
        label: 'My machines',
        icon: Truck,
        needs: 'supplier:read',
        // Owners apply here to become a supplier.
        orNeeds: 'organisation:write',
        words: 'hosts nodes become a supplier apply',
      },
      {
        to: '/supplier/earnings',
        label: 'Earnings',
        icon: BadgeDollarSign,
        needs: 'supplier:read',
        words: 'payouts statements',
      },
    ],
  },
  {
    label: 'Operator',
    places: [
      { to: '/operator', label: 'Fleet', icon: Network, needs: 'admin:read', words: 'nodes gpus drain map' },
      {
        to: '/operator/maintenance',
        label: 'Maintenance',
        icon: CalendarClock,
        needs: 'admin:read',
        words: 'windows announce',
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
        icon: Wrench,
        needs: 'admin:read',
        words: 'clusters regions',
      },
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
        to: '/operator/models',
        label: 'Model catalog',
        icon: BrainCircuit,
        needs: 'admin:read',
        words: 'deployments',
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

export function visibleNavGroups(may: (scope: Scope) => boolean): readonly NavGroup[] {
  return navGroups
    .map((group) => ({
      ...group,
      places: group.places.filter(
        ({ needs, orNeeds }) => needs === null || may(needs) || (orNeeds !== undefined && may(orNeeds)),
      ),
    }))
    .filter(({ places }) => places.length > 0);
}
