import { Fault } from '@millrace/platform/fault';
import { findOperationById, findOperationByKey, requirePrincipal } from '@millrace/platform/http';
import type { StoredOperation } from '@millrace/platform/http';
import { parseId } from '@millrace/platform/ids';
import { isVisible, readKey, type ApiKeyService } from './api-keys.service.ts';
import { listKeys } from '../model/api-keys.store.ts';
import { toWireKey, toWireOperation, type WireOperation } from '../identity.wire.ts';
import { callContextOf, pageById, positionFromCursor, readCommitted } from '../route-helpers.ts';
import type { RouteDeps } from '../route-helpers.ts';

const MS_PER_SECOND = 1_000;

export interface KeyRoutes extends RouteDeps {
  readonly keys: ApiKeyService;
}

export function serveApiKeys({ server, operations, db, keys }: KeyRoutes): void {
  server.serve(operations.createApiKey, ({ body, context, transact }) =>
    transact({ name: 'create api key', isolation: readCommitted }, async (tx) => {
      const expiresAt = body.expiresAt === null ? null : new Date(body.expiresAt);
      const { key, text } = await keys.create(tx, callContextOf(context), { ...body, expiresAt });
      return { body: { ...toWireKey(key), key: text }, resource: { kind: 'api-key', id: key.id } };
    }),
  );

  server.serve(operations.listApiKeys, async ({ query, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const { limit } = query;
    const after = positionFromCursor('key', query.cursor);
    const rows = await listKeys(db, orgId, { limit, after, mode: mode === 'test' ? 'test' : null });
    return pageById(rows, limit, toWireKey);
  });

  server.serve(operations.getApiKey, async ({ params, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    return toWireKey(await readKey(db, orgId, mode, requireKeyId(params.keyId)));
  });

  server.serve(operations.revokeApiKey, ({ params, context, transact }) =>
    transact({ name: 'revoke api key', isolation: readCommitted }, async (tx) => {
      const key = await keys.revoke(tx, callContextOf(context), requireKeyId(params.keyId));
      return { body: toWireKey(key) };
    }),
  );

  server.serve(operations.rotateApiKey, ({ params, body, context, transact }) =>
    transact({ name: 'rotate api key', isolation: readCommitted }, async (tx) => {
      const overlapMs = body.overlapSeconds * MS_PER_SECOND;
      const rotated = await keys.rotate(tx, callContextOf(context), requireKeyId(params.keyId), overlapMs);
      const { id, expiresAt } = rotated.previous;
      const previous = { id, expiresAt: expiresAt.toISOString() };
      return {
        body: { ...toWireKey(rotated.key), key: rotated.text, previous },
        resource: { kind: 'api-key', id: rotated.key.id },
      };
    }),
  );
}

export function serveOperations({ server, operations, db }: RouteDeps): void {
  server.serve(operations.getOperation, async ({ params, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const id = parseId('op', params.operationId);
    return requireOperation(id === null ? null : await findOperationById(db, orgId, id), mode);
  });

  server.serve(operations.findOperation, async ({ query, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    return requireOperation(await findOperationByKey(db, orgId, query.idempotencyKey), mode);
  });
}

function requireOperation(found: StoredOperation | null, mode: 'live' | 'test'): WireOperation {
  const wire = found === null || !isVisible(mode, found) ? null : toWireOperation(found);
  if (wire === null) throw new Fault('OPERATION_NOT_FOUND');
  return wire;
}

/** A malformed id gets the same response as an unknown one. */
function requireKeyId(text: string) {
  const id = parseId('key', text);
  if (id === null) throw new Fault('API_KEY_NOT_FOUND');
  return id;
}
