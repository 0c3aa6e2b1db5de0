import { insertAuditReport, insertInvoice, testIds, uniqueId } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { runAudit, serveAuditReports } from '../auditor/index.ts';
import { apply, usd } from '../money.fixture.ts';
import { seedOrganisation, startRoutes } from '../routes.fixture.ts';
import { serveInvoices } from './index.ts';

/** Invoices, the cost export and audit reports over HTTP. */

const fixture = await startRoutes((deps) => {
  serveInvoices({ ...deps, issuer: 'Millrace' });
  serveAuditReports(deps);
});
const acme = await seedOrganisation(fixture.db);
const operator = await seedOrganisation(fixture.db, { platformRole: 'operator' });
afterAll(() => fixture[Symbol.asyncDispose]());

const get = (path: string, key = acme.owner.key) => fixture.call({ method: 'GET', path, key });

async function testKey(): Promise<string> {
  const body = { name: 'play', scopes: ['billing:read'], mode: 'test' };
  const made = await fixture.call({ method: 'POST', path: '/v2/api-keys', key: acme.owner.key, body });
  return made.json.key as string;
}

describe('invoices', () => {
  it('are listed newest first and returned with their lines, as JSON and as PDF', async () => {
    const orgId = acme.organisation.id;
    const [first, second] = [await insertInvoice(fixture.db, orgId), await insertInvoice(fixture.db, orgId)];
    const list = await get('/v2/customer/invoices?limit=1');
    expect(list.json.items).toMatchObject([{ id: second, status: 'final', totalNanoUsd: '1000000000' }]);
    const next = await get(`/v2/customer/invoices?limit=1&cursor=${list.json.nextCursor}`);
    expect(next.json.items).toMatchObject([{ id: first }]);
    const one = await get(`/v2/customer/invoices/${first}`);
    expect(one.json).toMatchObject({
      number: expect.stringMatching(/^INV-[0-9]{8}$/),
      currency: 'USD',
      lines: [{ amountNanoUsd: '1000000000' }],
    });
    const pdf = await get(`/v2/customer/invoices/${first}/pdf`);
    expect([pdf.status, pdf.headers['content-type'], pdf.text.slice(0, 5)]).toEqual([
      200,
      'application/pdf',
      '%PDF-',
    ]);
    expect(pdf.headers['content-disposition']).toBe(`attachment; filename="${one.json.number}.pdf"`);
  });

  it('are hidden from test keys and other organisations', async () => {
    const id = await insertInvoice(fixture.db, acme.organisation.id);
    const key = await testKey();
    expect((await get('/v2/customer/invoices', key)).json.items).toEqual([]);
    for (const path of [`/v2/customer/invoices/${id}`, `/v2/customer/invoices/${id}/pdf`]) {
      expect([(await get(path, key)).status, (await get(path, operator.owner.key)).status]).toEqual([
        404, 404,
      ]);
    }
    const refused = await get(`/v2/customer/invoices/${testIds.next('ivc')}/pdf`);
    expect([refused.status, refused.json.reason]).toEqual([404, 'INVOICE_NOT_FOUND']);
  });
});

describe('cost export', () => {
  it('is CSV with a header line and the charges', async () => {
    const { orgId, key } = await spender();
    const response = await get('/v2/customer/cost-export', key);
    expect([response.status, response.headers['content-type']]).toEqual([200, 'text/csv']);
    expect(response.headers['content-disposition']).toMatch(
      /^attachment; filename="costs-\d{4}-\d{2}-01\.csv"$/,
    );
    const [names, row, ...more] = response.text.split('\r\n');
    expect(names?.startsWith('BilledCost,BillingAccountId,')).toBe(true);
    expect(row?.startsWith(`1.500000001,${orgId},`)).toBe(true);
    expect(more).toEqual(['']);
  });

  it('without costs has only the header line', async () => {
    const { key } = await spender();
    const path = '/v2/customer/cost-export?from=2020-01-01T00:00:00Z&until=2020-02-01T00:00:00Z';
    expect((await get(path, key)).text.split('\r\n')).toHaveLength(2);
  });

  it.each([
    ['from=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z', 'must not be after until'],
    ['from=2020-01-01T00:00:00Z&until=2026-01-01T00:00:00Z', 'must be at most 366 days before until'],
  ])('of %s is refused', async (query, message) => {
    const response = await get(`/v2/customer/cost-export?${query}`);
    expect([response.status, response.text.includes(message)]).toEqual([400, true]);
  });
});

describe('audit reports', () => {
  it('are listed and read by operators with findings and remedies', async () => {
    const { key } = operator.owner;
    const inserted = await insertAuditReport(fixture.db, acme.organisation.id);
    const read = await get(`/v2/admin/audit-reports/${inserted}`, key);
    expect(read.json).toMatchObject({
      id: inserted,
      kind: 'full',
      isClean: false,
      errors: 1,
      checks: [{ check: 'invoice_adds_up', rule: expect.stringContaining('invoice'), lookedAt: 3 }],
      findings: [{ organisationId: acme.organisation.id, remedy: expect.stringContaining('ledger') }],
    });
    // Inserted invoices have no transfers in the ledger, so this audit has findings as well.
    const report = await runAudit(fixture.db, { kind: 'full' });
    expect(report?.recorded).toBe(true);
    const list = await get('/v2/admin/audit-reports?limit=1', key);
    const [newest] = list.json.items;
    expect(newest).toMatchObject({ kind: 'full', snapshotAt: report?.snapshotAt.toISOString() });
    const whole = await get(`/v2/admin/audit-reports/${newest.id}`, key);
    expect(whole.json.checks).toHaveLength(report?.outcomes.length ?? 0);
    const dirty = await get('/v2/admin/audit-reports?clean=false&kind=full', key);
    expect(dirty.json.items.map(({ id }: { id: string }) => id)).toContain(inserted);
    const next = await get(`/v2/admin/audit-reports?limit=1&cursor=${list.json.nextCursor}`, key);
    expect(next.json.items).toHaveLength(1);
    expect((await get('/v2/admin/audit-reports')).status).toBe(403);
  });
});

async function spender(): Promise<{ readonly orgId: string; readonly key: string }> {
  const { organisation, owner } = await seedOrganisation(fixture.db);
  const base = { orgId: organisation.id, mode: 'live', step: 'one' } as const;
  const [granted, amount] = [usd(10), usd(1.500000001)];
  await apply(fixture, {
    ...base,
    do: 'credit',
    kind: 'grant',
    cause: { kind: 'operator', id: uniqueId() },
    amount: granted,
    from: [{ account: { kind: 'grants' }, amount: granted }],
    description: 'Grant',
  });
  await apply(fixture, {
    ...base,
    do: 'debit',
    kind: 'charge',
    cause: { kind: 'rental', id: '42' },
    amount,
    to: [{ account: { kind: 'revenue', product: 'rental' }, amount }],
    whenShort: 'refuse',
    usage: { gpuMs: 3_600_000 },
    description: 'Work',
  });
  return { orgId: organisation.id, key: owner.key };
}
