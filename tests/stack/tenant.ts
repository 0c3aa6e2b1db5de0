import { newReadinessKey } from '@millrace/compute/readiness';
import { seedOrganisation } from '@millrace/core/fixture';
import { applyLedger, requireLedgerSuccess } from '@millrace/core/ledger';
import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { OrgId } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { testIds, uniqueId } from '@millrace/testing';
import { GPU_TYPE, type CoreStack } from './core-stack.ts';

/** A tenant who rents only through the public API. */

export interface ApiResponse {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on any field of a response
  readonly json: any;
}

export interface StackTenant {
  readonly orgId: OrgId;
  /** In OpenSSH format. */
  readonly privateKey: string;
  call(
    method: string,
    path: string,
    options?: { readonly body?: object; readonly idempotencyKey?: string },
  ): Promise<ApiResponse>;
}

const committed = 'read committed' as const;

export const GPU_HOUR: NanoUsd = nanoUsd(2_000_000_000n);

export async function insertPrice(
  stack: Pick<CoreStack, 'rows'>,
  machineType: 'virtual-machine' | 'bare-metal' = 'virtual-machine',
): Promise<void> {
  await stack.rows(`insert into prices (id, subject_kind, gpu_type, machine_type, unit, price_nano_usd, valid_from, created_at)
    values ('${testIds.nextUuid()}', 'gpu', '${GPU_TYPE}', '${machineType}', 'gpu_hour', ${GPU_HOUR}, now(), now())`);
}

export async function seedTenant(
  stack: Pick<CoreStack, 'apiUrl' | 'database'>,
  balanceUsd: number,
): Promise<StackTenant> {
  const { db } = stack.database;
  const { organisation, owner } = await seedOrganisation(db);
  await grantCredit(db, organisation.id, nanoUsd(BigInt(balanceUsd) * 1_000_000_000n));
  const { privateKey, publicKey } = newReadinessKey();
  const call: StackTenant['call'] = async (method, path, options = {}) => {
    const response = await fetch(stack.apiUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${owner.key}`,
        ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(options.idempotencyKey === undefined ? {} : { 'idempotency-key': options.idempotencyKey }),
      },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      signal: AbortSignal.timeout(60_000),
    });
    const text = await response.text();
    return { status: response.status, json: text === '' ? undefined : JSON.parse(text) };
  };
  const added = await call('POST', '/v2/ssh-public-keys', { body: { name: 'laptop', publicKey } });
  if (added.status >= 300) throw new Error(`Adding the SSH key failed: ${JSON.stringify(added.json)}`);
  return { orgId: organisation.id, privateKey, call };
}

/** Credits the wallet with an operator's adjustment, which the auditor accepts without a payment. */
export async function grantCredit(db: Db, orgId: OrgId, amount: NanoUsd): Promise<void> {
  const results = await db.transaction({ name: 'give money', isolation: committed }, (tx) =>
    applyLedger(tx, [
      {
        do: 'credit',
        kind: 'adjustment',
        orgId,
        mode: 'live',
        cause: { kind: 'adjustment', id: uniqueId() },
        step: 'adjust',
        amount,
        from: [{ account: { kind: 'adjustments' }, amount }],
        description: 'Money to begin with',
      },
    ]),
  );
  for (const result of results) requireLedgerSuccess(result);
}

/** Retries while the api does not respond, or responds 429 or 5xx, as Millrace's own clients do. */
export async function callUntilAnswered(
  tenant: StackTenant,
  method: string,
  path: string,
  options: { readonly body?: object; readonly idempotencyKey?: string } = {},
): Promise<ApiResponse> {
  const untilMs = systemClock.monotonicMs() + 60_000;
  for (;;) {
    const response = await tenant.call(method, path, options).catch(() => null);
    const isResponse = response !== null && response.status < 500 && response.status !== 429;
    if (isResponse) return response;
    if (systemClock.monotonicMs() > untilMs) {
      throw new Error(`${method} ${path} got no final response: ${JSON.stringify(response)}`);
    }
    await systemClock.sleep(200);
  }
}

export const rentalPath = (id: number): string => `/v2/on-demand/rentals/${id}`;
