import { isIP } from 'node:net';
import type { ResponseBody, Contract } from '@millrace/contract';
import type { Db } from '@millrace/platform/db';
import { Fault, invalidField } from '@millrace/platform/fault';
import { requirePrincipal, type HttpServer, type RequestContext } from '@millrace/platform/http';
import { parseId } from '@millrace/platform/ids';
import type { NetGuard } from '@millrace/platform/net';
import type { Sealer } from '@millrace/platform/secrets';
import { pageById, positionFromCursor, readCommitted, type AuditContext } from '../../identity/index.ts';
import { enrolmentSteps, type Enrolment } from './enrolment.ts';
import { startEnrolment } from './enrolment.service.ts';
import { findEnrolment, listEnrolments } from './enrolment.store.ts';

type Operations = Contract['operations'];

export interface EnrolmentRoutes {
  readonly server: HttpServer;
  readonly operations: Operations;
  readonly db: Db;
  /** Seals trust tokens of daemons until they are used. */
  readonly sealer: Sealer;
  readonly guard: NetGuard;
}

export function serveEnrolments({ server, operations, db, sealer, guard }: EnrolmentRoutes): void {
  server.serve(operations.supplierStartEnrolment, ({ body, context, transact }) => {
    refuseForbidden(guard, body.endpoint);
    return transact({ name: 'start enrolment', isolation: readCommitted }, async (tx) => {
      const { id, stage } = await startEnrolment(tx, { sealer, cause: causeOfMachine(context) }, body);
      return { body: { id, stage }, resource: { kind: 'enrolment', id } };
    });
  });

  server.serve(operations.supplierListEnrolments, async ({ query: { limit, cursor }, context }) => {
    const { orgId } = requirePrincipal(context);
    const rows = await listEnrolments(db, orgId, { limit, after: positionFromCursor('enr', cursor) });
    return pageById(rows, limit, toWire);
  });

  server.serve(operations.supplierGetEnrolment, async ({ params, context }) => {
    const { orgId } = requirePrincipal(context);
    const id = parseId('enr', params.enrolmentId);
    const enrolment = id === null ? null : await findEnrolment(db, orgId, id);
    if (enrolment === null) throw new Fault('ENROLMENT_NOT_FOUND');
    return toWire(enrolment);
  });
}

/** Early refusal of IP addresses; names are checked when they are resolved. */
function refuseForbidden(guard: NetGuard, endpoint: string): void {
  const host = URL.canParse(endpoint) ? new URL(endpoint).hostname.replaceAll(/^\[|\]$/g, '') : '';
  const problem = isIP(host) === 0 ? null : guard.problemWith(host);
  if (problem !== null) throw invalidField(['endpoint'], `cannot be used: ${problem}`);
}

function causeOfMachine({ requestId, clientIp }: RequestContext): AuditContext {
  const ip = isIP(clientIp) === 0 ? null : clientIp;
  return { actor: { kind: 'system', id: 'join-token' }, mode: 'live', requestId, ip };
}

function toWire(enrolment: Enrolment): ResponseBody<Operations['supplierGetEnrolment']> {
  const { tests } = enrolment;
  return {
    id: enrolment.id,
    name: enrolment.name,
    endpoint: enrolment.endpoint,
    clusterName: enrolment.clusterName,
    region: enrolment.region,
    stage: enrolment.stage,
    problem: enrolment.problem,
    steps: [...enrolmentSteps(enrolment)],
    machineId: enrolment.nodeId,
    tests:
      tests === null
        ? null
        : {
            cpu: tests.cpu,
            memory: tests.memory,
            disk: tests.disk,
            network: tests.network,
            gpu: { ...tests.gpu, details: [...tests.gpu.details] },
          },
    joinedAt: enrolment.joinedAt.toISOString(),
    deadlineAt: enrolment.deadlineAt?.toISOString() ?? null,
    enrolledAt: enrolment.enrolledAt?.toISOString() ?? null,
  };
}
