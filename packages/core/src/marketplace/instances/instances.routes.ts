import type { Contract } from '@millrace/contract';
import type { Timer } from '@millrace/platform/clock';
import { Fault } from '@millrace/platform/fault';
import {
  decodeCursor,
  linkNext,
  reply,
  requirePrincipal,
  toPage,
  type HttpServer,
  type RequestContext,
} from '@millrace/platform/http';
import { parseId, type RentalId } from '@millrace/platform/ids';
import { z } from 'zod';
import { callContextOf, readCommitted } from '../../identity/index.ts';
import { createOrderRunner, TERMINATION_LOCK_TIMEOUT_MS, type OrderRunnerDeps } from '../../rentals/index.ts';
import {
  createInstance,
  getInstance,
  listEndedInstances,
  listInstances,
  terminateInstance,
} from './instances.service.ts';
import { toWireDetail, toWireEnded, toWireInstance } from './instances.wire.ts';

export interface InstanceRoutes extends OrderRunnerDeps {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly clock: Timer;
  /** Suffix of hostnames; null for none. */
  readonly domain: string | null;
}

/** Routes of tenants: marketplace instances. */
export function serveInstances(routes: InstanceRoutes): void {
  serveCreateAndTerminate(routes);
  const { server, operations, db, domain } = routes;

  const list = async ({ context }: { readonly context: RequestContext }) => {
    const instances = await listInstances(db, requirePrincipal(context), db.clock.now());
    return { instances: instances.map((shown) => toWireInstance(shown, domain)) };
  };
  server.serve(operations.listMarketplaceInstances, list);
  server.serve(operations.listMarketplaceInstancesByPost, list);

  server.serve(operations.getMarketplaceInstance, async ({ params, context }) => {
    const shown = await getInstance(db, requirePrincipal(context), params.name, db.clock.now());
    if (shown === null) throw new Fault('INSTANCE_NOT_FOUND');
    return toWireDetail(shown, domain);
  });

  server.serve(operations.listMarketplaceInstanceHistory, async ({ query, context }) => {
    const { limit = HISTORY_MAX } = query;
    const after = query.cursor === undefined ? null : endedPositionOf(query.cursor);
    const { items, nextCursor } = toPage({
      rows: await listEndedInstances(db, requirePrincipal(context), { after, limit }, db.clock.now()),
      limit,
      toItem: toWireEnded,
      positionOf: ({ id, endedAt }) => ({ ended: endedAt.getTime(), id }),
    });
    const headers = nextCursor === null ? {} : { link: linkNext(context.url, nextCursor) };
    return reply({ instance_history: items }, headers);
  });
}

/** Default page size of the history. */
const HISTORY_MAX = 1_000;

function serveCreateAndTerminate({ server, operations, ...deps }: InstanceRoutes): void {
  const ordering = createOrderRunner(deps);

  server.serve(operations.createMarketplaceInstance, ({ body, context, transact }) =>
    ordering(requirePrincipal(context), (wireId, use) =>
      transact({ name: 'create instance', isolation: readCommitted }, async (tx) => {
        const { name } = await createInstance(tx, callContextOf(context), body, wireId);
        use();
        return {
          body: {
            status: 'success' as const,
            instance_name: name,
            instance_id: name,
            message: 'Instance is being created',
          },
          resource: { kind: 'instance', id: name },
        };
      }),
    ),
  );

  server.serve(operations.terminateMarketplaceInstance, ({ body, context, transact }) =>
    transact(
      { name: 'terminate instance', isolation: readCommitted, retryForMs: TERMINATION_LOCK_TIMEOUT_MS },
      async (tx) => {
        const { mode } = requirePrincipal(context);
        await terminateInstance(tx, callContextOf(context), { mode, name: body.id });
        return {
          body: { status: 'success' as const, message: 'Instance terminated' },
          resource: { kind: 'instance', id: body.id },
        };
      },
    ),
  );
}

const rentalId = z.custom<RentalId>(
  (value) => typeof value === 'string' && parseId('rnt', value) !== null,
  'belongs to another list',
);
const LAST_INSTANT_MS = Date.UTC(9999, 11, 31);
const endedPositionSchema = z.strictObject({ ended: z.int().min(0).max(LAST_INSTANT_MS), id: rentalId });

function endedPositionOf(cursor: string) {
  const { ended, id } = decodeCursor(cursor, endedPositionSchema);
  return { endedAt: new Date(ended), id };
}
