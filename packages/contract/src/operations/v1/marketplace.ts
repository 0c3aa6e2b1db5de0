import { z } from 'zod';
import { explicitOperation } from '../../operation-builders.ts';
import {
  currentBalance,
  marketplaceFilters,
  marketplaceHistoryEntry,
  marketplaceInstance,
  marketplaceMachine,
  marketplaceSort,
} from '../../records/marketplace.ts';
import { instanceAdditions, listHeaders, listQuery, marketplaceErrorStatuses } from '../baseline-schemas.ts';

/** Baseline operations: marketplace machines and instances, and the balance. */

const common = {
  document: 'v1',
  source: 'interface',
  errorFamily: 'marketplace',
  tags: ['marketplace'],
} as const;

const port = z.int().min(1).max(65_535);

const instanceImage = z
  .object({
    name: z.string().max(1_000),
    tag: z.string().max(1_000).optional(),
    port: port.optional(),
    ports: z.array(port).max(20).optional(),
  })
  .meta({ id: 'InstanceImage' });

const instanceList = z.strictObject({ instances: z.array(marketplaceInstance) });

const listInstances = {
  ...common,
  auth: 'key',
  scope: 'marketplace:read',
  summary: 'List marketplace instances',
  response: { status: 200, schema: instanceList },
  errors: marketplaceErrorStatuses,
} as const;

export function marketplaceOperations() {
  return {
    listMarketplaceMachines: explicitOperation('POST /v1/marketplace', {
      ...common,
      auth: 'none',
      scope: null,
      summary: 'List all available machines',
      description:
        'Without a limit, the response has the whole list, compressed if the client accepts gzip. Unknown filters are named in `X-Ignored-Filters`. Machines in mock-region, which test keys use, are listed only if you filter by that region.',
      body: z.object({
        filters: marketplaceFilters.default({}),
        sort: marketplaceSort.optional(),
        limit: z.int().min(1).max(1000).nullish(),
        cursor: z.string().min(1).max(8_192).nullish(),
      }),
      response: {
        status: 200,
        schema: z.strictObject({
          instances: z.array(marketplaceMachine),
          next_cursor: z.string().nullable().optional(),
        }),
        revalidates: true,
        headers: {
          'X-Ignored-Filters': 'Unknown filter keys, separated by commas.',
          'X-Listing-Age-Ms':
            'The time since the list was last compared with the database, in milliseconds: at most 5000.',
        },
      },
      errors: [400, 429, 500, 503],
    }),
    createMarketplaceInstance: explicitOperation('POST /v1/marketplace/instances/create', {
      ...common,
      auth: 'key',
      scope: 'marketplace:write',
      summary: 'Create a marketplace instance',
      body: z
        .object({
          cluster_name: z.string().max(1_000),
          node_name: z.string().max(1_000),
          gpu_count: z.int().min(1),
          image: instanceImage.optional(),
          ...instanceAdditions,
        })
        .meta({ id: 'CreateMarketplaceInstance' }),
      response: {
        status: 200,
        schema: z.strictObject({
          status: z.literal('success'),
          instance_name: z.string(),
          instance_id: z.string(),
          message: z.string(),
        }),
      },
      errors: marketplaceErrorStatuses,
      idempotency: 'key',
      notFoundReason: 'MACHINE_NOT_FOUND',
      // Some clients terminate by sending the id to this path.
      misdirected: { fields: ['id'], reason: 'WRONG_MARKETPLACE_PATH' },
    }),
    listMarketplaceInstances: explicitOperation('GET /v1/marketplace/instances', listInstances),
    listMarketplaceInstancesByPost: explicitOperation('POST /v1/marketplace/instances', listInstances),
    listMarketplaceInstanceHistory: explicitOperation('GET /v1/marketplace/instances/history', {
      ...common,
      auth: 'key',
      scope: 'marketplace:read',
      summary: 'List marketplace instances that have ended',
      description: 'Last ended first, at most 1000 per page.',
      query: listQuery,
      response: {
        status: 200,
        schema: z.strictObject({ instance_history: z.array(marketplaceHistoryEntry) }),
        headers: listHeaders,
      },
      errors: marketplaceErrorStatuses,
    }),
    terminateMarketplaceInstance: explicitOperation('POST /v1/marketplace/instances/terminate', {
      ...common,
      auth: 'key',
      scope: 'marketplace:write',
      summary: 'Terminate a marketplace instance',
      description: 'Terminating again returns success.',
      body: z.object({ id: z.string().max(1_000) }),
      response: {
        status: 200,
        schema: z.strictObject({ status: z.literal('success'), message: z.string() }),
      },
      errors: marketplaceErrorStatuses,
      idempotency: 'key',
      notFoundReason: 'INSTANCE_NOT_FOUND',
    }),
    getCurrentBalance: explicitOperation('GET /billing/get_current_balance', {
      ...common,
      aliases: ['/v1/billing/get_current_balance'],
      auth: 'key',
      scope: 'billing:read',
      summary: 'Read the current balance',
      tags: ['billing'],
      response: { status: 200, schema: currentBalance },
      errors: marketplaceErrorStatuses,
    }),
  } as const;
}
