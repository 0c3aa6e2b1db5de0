import { describe, expect, it } from 'vitest';
import { contract, operationsOf } from './contract.ts';
import { eventTypeNames } from './events.ts';

/** Method and path of every extension operation, so that none can be renamed or removed unnoticed. */
const onDemand = '/v2/alpha/on-demand';

const decided = {
  'further v2 operations': [
    `GET ${onDemand}/rental-options`,
    `GET ${onDemand}/reserve-options`,
    `GET ${onDemand}/virtual-machine-rentals`,
    `POST ${onDemand}/virtual-machine-rentals/terminate`,
    `POST ${onDemand}/bare-metal-rentals/terminate`,
    `GET ${onDemand}/rentals/{}`,
    `PATCH ${onDemand}/rentals/{}`,
    `POST ${onDemand}/rentals/{}/start`,
    `POST ${onDemand}/rentals/{}/stop`,
    `POST ${onDemand}/rentals/{}/reboot`,
    `POST ${onDemand}/rentals/{}/extend`,
    `GET ${onDemand}/rentals/history`,
    `GET ${onDemand}/rentals/{}/events`,
    `GET ${onDemand}/rentals/{}/metrics`,
    `GET ${onDemand}/rentals/{}/console`,
    `GET ${onDemand}/rentals/{}/cost`,
    `POST ${onDemand}/quote`,
    `POST ${onDemand}/placement/explain`,
    `POST ${onDemand}/storage-volumes/detach`,
    `DELETE ${onDemand}/storage-volumes/{}`,
    `PATCH ${onDemand}/storage-volumes/{}`,
    `POST ${onDemand}/storage-volumes/{}/snapshots`,
    `POST ${onDemand}/storage-volumes/{}/snapshots/{}/restore`,
    'GET /v2/customer/balance',
    'GET /v2/customer/ledger',
    'GET /v2/customer/invoices',
    'GET /v2/customer/usage',
    'GET /v2/customer/budgets',
    'GET /v2/customer/limits',
    'GET /v2/ssh-public-keys',
    'POST /v2/ssh-public-keys',
    'DELETE /v2/ssh-public-keys/{}',
    'GET /v2/api-keys',
    'POST /v2/api-keys',
    'DELETE /v2/api-keys/{}',
    'GET /v2/webhooks',
    'POST /v2/webhooks',
    'PATCH /v2/webhooks/{}',
    'DELETE /v2/webhooks/{}',
    'GET /v2/events',
    'GET /v2/operations/{}',
    'GET /v2/operations',
    'GET /v2/usage/requests/{}',
    'GET /openapi/{}',
  ],
  marketplace: [
    'GET /v1/marketplace/instances',
    'POST /v1/marketplace/instances',
    'GET /billing/get_current_balance',
    'GET /v1/billing/get_current_balance',
    'GET /billing/purchase_history',
    'GET /v1/billing/purchase_history',
  ],
  inference: [
    'GET /v1/models',
    'POST /v1/completions',
    'POST /v1/images/generations',
    'POST /v1/audio/speech',
    'GET /models/{}/price',
  ],
  'events and webhooks': [
    'POST /v2/webhooks/{}/replay',
    'POST /v2/webhooks/{}/deliveries/{}/replay',
    'GET /v2/webhooks/{}/deliveries',
    'POST /v2/webhooks/{}/rotate-secret',
  ],
  'administration, suppliers, people': [
    'GET /v2/me',
    'GET /v2/organisations',
    'GET /v2/organisations/{}/members',
    'PATCH /v2/organisations/{}/members/{}',
    'POST /v2/admin/organisations/{}/grants',
    'POST /v2/admin/organisations/{}/adjustments',
    'POST /v2/admin/organisations/{}/refunds',
    'POST /v2/admin/transfers/{}/reverse',
    'POST /v2/admin/organisations/{}/suspend',
    'POST /v2/admin/organisations/{}/resume',
    'POST /v2/admin/maintenance-windows',
    'GET /v2/admin/providers',
    'POST /v2/admin/nodes/{}/drain',
    'POST /v2/admin/nodes/{}/quarantine',
    'POST /v2/admin/prices',
    'POST /v2/admin/suppliers/{}/approve',
    'POST /v2/admin/models',
    'POST /v2/admin/deployments',
    'POST /v2/admin/private-cloud-rentals',
    'GET /v2/supplier/machines',
    'POST /v2/supplier/join-tokens',
    'GET /v2/supplier/earnings',
    'GET /v2/supplier/statements',
    'POST /v2/supplier/payouts',
  ],
} as const;

const decidedEventTypes = [
  ...['pending', 'running', 'failed', 'unknown', 'terminating', 'terminated', 'expiring', 'converted'].map(
    (name) => `rental.${name}`,
  ),
  ...['active', 'attached', 'detached', 'inactive', 'deleted'].map((name) => `volume.${name}`),
  ...['creating', 'starting', 'online', 'offline', 'stopping', 'terminated', 'failed'].map(
    (name) => `instance.${name}`,
  ),
  ...['ready', 'offline', 'quarantined'].map((name) => `machine.${name}`),
  ...['low', 'floor', 'topped_up'].map((name) => `balance.${name}`),
  ...['threshold', 'exceeded'].map((name) => `budget.${name}`),
  'reservation.requested',
  'invoice.finalized',
  'key.created',
  'key.revoked',
];

const anonymous = (path: string) => path.replaceAll(/\{[^}]*\}/g, '{}');

const operations = operationsOf(contract);

const reachable = new Set(
  operations.flatMap(({ method, path, aliases = [] }) =>
    [path, ...aliases].map((each) => `${method} ${anonymous(each)}`),
  ),
);

describe.each(Object.entries(decided))('decided %s', (_section, lines) => {
  it.each(lines)('%s is an operation of the contract', (line) => {
    expect(reachable).toContain(line);
  });
});

describe('decided paths', () => {
  it('serve every path under alpha also without alpha', () => {
    const alone = operations.filter(
      ({ path, aliases = [] }) =>
        path.includes('/alpha/') && !aliases.some((alias) => alias === path.replace('/alpha/', '/')),
    );
    expect(alone.map(({ id }) => id)).toEqual([]);
  });

  it('give operators and suppliers their own documents and prefixes', () => {
    for (const { document, path } of operations) {
      expect(path.startsWith('/v2/admin/')).toBe(document === 'admin');
      expect(path.startsWith('/v2/supplier/')).toBe(document === 'supplier');
    }
  });
});

describe('decided event types', () => {
  it.each(decidedEventTypes)('%s is an event type', (type) => {
    expect(eventTypeNames).toContain(type);
  });
});
