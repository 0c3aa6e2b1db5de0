import type { Scope } from '@millrace/contract/scopes';
import { ApiError, type Item, type Millrace } from '@millrace/sdk';
import {
  Boxes,
  BrainCircuit,
  Building2,
  HardDrive,
  KeyRound,
  Network,
  ReceiptText,
  Server,
  Users,
  Webhook,
  type LucideIcon,
} from 'lucide-react';
import type { ResourceName } from '../../api/queries.ts';
import { asRentalId, type PaletteItem } from './palette-items.ts';

/** Reads resources for the command palette. Each source sends one request; the palette filters the result. */

interface SearchContext {
  readonly client: Millrace;
  readonly organisationId: string;
  readonly signal: AbortSignal;
}

export interface ResourceSource {
  /** Name of the group, and of the resources in a failure message. */
  readonly group: string;
  readonly needs: Scope;
  readonly resource: ResourceName;
  readonly read: (context: SearchContext) => Promise<readonly PaletteItem[]>;
}

/** The newest of each list; older ones are found on their pages. */
const LIST_LIMIT = 100;

interface Found {
  readonly id: string;
  readonly label: string;
  readonly detail?: string;
  /** Ids besides `id`, and addresses. */
  readonly ids?: readonly string[];
  readonly terms?: readonly (string | null)[];
  readonly href: string;
}

function toItem(
  group: string,
  icon: LucideIcon,
  { id, label, detail, ids = [], terms = [], href }: Found,
): PaletteItem {
  return {
    id: `${group} ${id}`,
    group,
    label,
    ...(detail === undefined ? {} : { detail }),
    ids: [id, ...ids],
    terms: terms.filter((term) => term !== null),
    icon,
    target: { href },
  };
}

function source<Listed>(options: {
  readonly group: string;
  readonly icon: LucideIcon;
  readonly needs: Scope;
  readonly resource: ResourceName;
  readonly list: (context: SearchContext) => Promise<{ readonly items: readonly Listed[] }>;
  readonly find: (listed: Listed) => Found;
}): ResourceSource {
  const { group, icon, needs, resource, list, find } = options;
  return {
    group,
    needs,
    resource,
    read: async (context) => (await list(context)).items.map((each) => toItem(group, icon, find(each))),
  };
}

const inPath = encodeURIComponent;

type ListedRental = Item<'listRentals'>;

export function findRental(rental: ListedRental): Found {
  const { id, name, label, status, externalId, ssh } = rental;
  return {
    id: String(id),
    label: name ?? label ?? `Rental ${String(id)}`,
    detail: `${String(id)}, ${status}`,
    ids: [externalId, ...ssh.map(({ host }) => host)],
    terms: [label, rental.gpuType, rental.region],
    href: `/rentals/${String(id)}`,
  };
}

export const resourceSources: readonly ResourceSource[] = [
  source({
    group: 'Rentals',
    icon: Server,
    needs: 'rentals:read',
    resource: 'rentals',
    list: ({ client, signal }) => client.rentals.list({ limit: LIST_LIMIT }, { signal }),
    find: findRental,
  }),
  source({
    group: 'Instances',
    icon: Boxes,
    needs: 'marketplace:read',
    resource: 'instances',
    list: ({ client, signal }) => client.marketplace.instances.list({}, { signal }),
    find: ({ id, instance, portMappings }) => ({
      id,
      label: id,
      detail: instance.status,
      ids: [instance.id, ...portMappings.map(({ domain }) => domain)],
      href: `/instances/${inPath(id)}`,
    }),
  }),
  source({
    group: 'Volumes',
    icon: HardDrive,
    needs: 'volumes:read',
    resource: 'volumes',
    list: ({ client, signal }) => client.volumes.list({ limit: LIST_LIMIT }, { signal }),
    find: ({ id, label, region, sizeInGb }) => ({
      id: String(id),
      label,
      detail: `${String(sizeInGb)} GB, ${region}`,
      href: `/volumes/${String(id)}`,
    }),
  }),
  source({
    group: 'Models',
    icon: BrainCircuit,
    needs: 'inference:read',
    resource: 'models',
    list: async ({ client, signal }) => ({ items: (await client.catalog.get({}, { signal })).models }),
    find: ({ name, ownedBy }) => ({
      id: name,
      label: name,
      detail: ownedBy,
      href: `/models?name=${inPath(name)}`,
    }),
  }),
  source({
    group: 'API keys',
    icon: KeyRound,
    needs: 'api-keys:read',
    resource: 'keys',
    list: ({ client, signal }) => client.keys.list({ limit: LIST_LIMIT }, { signal }),
    find: ({ id, name, publicId }) => ({
      id,
      label: name,
      detail: publicId,
      ids: [publicId],
      href: '/keys?show=all',
    }),
  }),
  source({
    group: 'Webhooks',
    icon: Webhook,
    needs: 'webhooks:read',
    resource: 'webhooks',
    list: ({ client, signal }) => client.webhooks.list({ limit: LIST_LIMIT }, { signal }),
    find: ({ id, url }) => ({ id, label: url, href: `/webhooks/${inPath(id)}` }),
  }),
  source({
    group: 'Members',
    icon: Users,
    needs: 'members:read',
    resource: 'team',
    list: ({ client, signal, organisationId }) =>
      client.members.list({ organisationId, limit: LIST_LIMIT }, { signal }),
    find: ({ userId, name, email, role }) => ({
      id: userId,
      label: name ?? email,
      detail: name === null ? role : `${email}, ${role}`,
      href: '/team',
    }),
  }),
  source({
    group: 'Invoices',
    icon: ReceiptText,
    needs: 'billing:read',
    resource: 'money',
    list: ({ client, signal }) => client.invoices.list({ limit: LIST_LIMIT }, { signal }),
    find: ({ id, number }) => ({ id, label: number, href: `/invoices/${inPath(id)}` }),
  }),
  source({
    group: 'Nodes',
    icon: Network,
    needs: 'admin:read',
    resource: 'admin',
    list: ({ client, signal }) => client.admin.nodes.list({ limit: 200 }, { signal }),
    find: ({ id, name, clusterName, region, address, status }) => ({
      id,
      label: name,
      detail: `${clusterName}, ${region}`,
      ids: address === null ? [] : [address],
      terms: [status],
      href: `/operator/nodes/${inPath(id)}`,
    }),
  }),
];

function findOrganisation({ id, name, slug }: Item<'adminListOrganisations'>): Found {
  return { id, label: name, detail: slug, ids: [slug], href: `/operator/organisations/${inPath(id)}` };
}

export interface ResourceLookup {
  readonly group: string;
  readonly needs: Scope;
  readonly resource: ResourceName;
  readonly read: (context: SearchContext) => Promise<readonly PaletteItem[]>;
}

/** Requests for what the lists do not contain: an ended rental by its number, and organisations by name or id. */
export function lookupsFor(query: string): readonly ResourceLookup[] {
  const rentalId = asRentalId(query);
  const rental: ResourceLookup = {
    group: 'Rentals',
    needs: 'rentals:read',
    resource: 'rentals',
    read: async ({ client, signal }) => {
      if (rentalId === null) return [];
      const found = await orNull(client.rentals.get({ rentalId }, { signal }));
      return found === null ? [] : [toItem('Rentals', Server, findRental(found))];
    },
  };
  const organisations: ResourceLookup = {
    group: 'Organisations',
    needs: 'admin:read',
    resource: 'admin',
    read: async ({ client, signal }) => {
      const found = query.startsWith('org_')
        ? [await orNull(client.admin.organisations.get({ organisationId: query }, { signal }))]
        : (await client.admin.organisations.list({ search: query, limit: 6 }, { signal })).items;
      return found
        .filter((each) => each !== null)
        .map((each) => toItem('Organisations', Building2, findOrganisation(each)));
    },
  };
  return rentalId === null ? [organisations] : [rental, organisations];
}

/** A resource that does not exist, or an id that is not one, is no failure of the search. */
async function orNull<Output>(request: PromiseLike<Output>): Promise<Output | null> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 400)) return null;
    throw error;
  }
}
