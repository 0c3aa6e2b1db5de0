import type { Contract } from '@millrace/contract';
import type { Db, Tx } from '@millrace/platform/db';
import { Fault, invalidField } from '@millrace/platform/fault';
import { decodeCursor, toPage, type HttpServer } from '@millrace/platform/http';
import { parseId, type DeploymentId, type OrgId } from '@millrace/platform/ids';
import type { Sealer } from '@millrace/platform/secrets';
import { z } from 'zod';
import { operatorAuditContext, pageById, positionFromCursor, readCommitted } from '../../identity/index.ts';
import {
  createDeployment,
  createModel,
  deleteDeployment,
  updateDeployment,
  updateModel,
} from './catalog.service.ts';
import { listDeployments, listModels } from './catalog.store.ts';
import { toWireDeployment, toWireModel } from './catalog.wire.ts';

export interface CatalogRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  readonly sealer: Sealer;
  /** Whether engines on other machines need no TLS. */
  readonly allowPlaintext: boolean;
  /** Writes changes to the key feed at once, as far as possible. */
  readonly flushKeyFeed: () => Promise<void>;
}

export function serveCatalog(routes: CatalogRoutes): void {
  serveModels(routes);
  serveDeployments(routes);
}

const modelPosition = z.object({ name: z.string().min(1).max(200) });

function serveModels({ server, operations, db, flushKeyFeed }: CatalogRoutes): void {
  server.serve(operations.adminListModels, async ({ query: { limit, cursor } }) => {
    const after = cursor === undefined ? null : decodeCursor(cursor, modelPosition).name;
    const rows = await listModels(db, { limit, after });
    return toPage({ rows, limit, toItem: toWireModel, positionOf: ({ name }) => ({ name }) });
  });

  server.serve(operations.adminCreateModel, ({ body, context, transact }) =>
    transact({ name: 'create model', isolation: readCommitted }, async (tx) => {
      const { reason, ...fields } = body;
      const request = { ...fields, visibleTo: orgIdsOf(body.visibleTo) };
      const model = await createModel(tx, { ...operatorAuditContext(context), reason }, request);
      tx.afterCommit(flushKeyFeed);
      return { body: toWireModel(model), resource: { kind: 'model', id: model.name } };
    }),
  );

  server.serve(operations.adminUpdateModel, ({ params, body, context, transact }) =>
    transact({ name: 'change model', isolation: readCommitted }, async (tx) => {
      const { visibleTo, ...rest } = body;
      const change = {
        ...definedFields(rest),
        ...(visibleTo === undefined ? {} : { visibleTo: orgIdsOf(visibleTo) }),
      };
      const model = await updateModel(tx, operatorAuditContext(context), params.name, {
        ...change,
        reason: body.reason,
      });
      tx.afterCommit(flushKeyFeed);
      return { body: toWireModel(model), resource: { kind: 'model', id: model.name } };
    }),
  );
}

function serveDeployments(routes: CatalogRoutes): void {
  const { server, operations, db, flushKeyFeed } = routes;
  server.serve(operations.adminListDeployments, async ({ query: { limit, cursor, model = null } }) => {
    const rows = await listDeployments(db, { model }, { limit, after: positionFromCursor('dep', cursor) });
    return pageById(rows, limit, toWireDeployment);
  });

  server.serve(operations.adminCreateDeployment, ({ body, context, transact }) =>
    transact({ name: 'create deployment', isolation: readCommitted }, async (tx) => {
      const { reason, ...change } = body;
      const cause = { ...operatorAuditContext(context), reason };
      const deployment = await createDeployment(tx, cause, routes, change);
      tx.afterCommit(flushKeyFeed);
      return { body: toWireDeployment(deployment), resource: { kind: 'deployment', id: deployment.id } };
    }),
  );

  server.serve(operations.adminUpdateDeployment, ({ params, body, context, transact }) =>
    transact({ name: 'change deployment', isolation: readCommitted }, async (tx) => {
      const id = requireDeploymentId(params.deploymentId);
      const { reason, ...change } = body;
      const cause = { ...operatorAuditContext(context), reason };
      const deployment = await updateDeployment(tx, cause, routes, id, definedFields(change));
      tx.afterCommit(flushKeyFeed);
      return { body: toWireDeployment(deployment), resource: { kind: 'deployment', id } };
    }),
  );

  server.serve(operations.adminDeleteDeployment, ({ params, query, context, transact }) =>
    transact({ name: 'delete deployment', isolation: readCommitted }, async (tx: Tx) => {
      const cause = { ...operatorAuditContext(context), reason: query.reason };
      await deleteDeployment(tx, cause, requireDeploymentId(params.deploymentId));
      tx.afterCommit(flushKeyFeed);
      return { body: undefined };
    }),
  );
}

/** Fields that a change omits keep their values. */
function definedFields<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const defined = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(defined) as { [K in keyof T]: Exclude<T[K], undefined> };
}

function orgIdsOf(ids: readonly string[] | null): readonly OrgId[] | null {
  if (ids === null) return null;
  return ids.map((text, index) => {
    const id = parseId('org', text);
    if (id === null) throw invalidField(['visibleTo', index], 'is not an organisation id');
    return id;
  });
}

function requireDeploymentId(text: string): DeploymentId {
  const id = parseId('dep', text);
  if (id === null) throw new Fault('DEPLOYMENT_NOT_FOUND');
  return id;
}
