import type { Reader } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import type { OrgId } from '@millrace/platform/ids';
import { readResources, sumCosts } from './costs.store.ts';
import { daysOf, type TimeRange } from './day-ranges.ts';
import { csvLine, focusCsvLine, focusColumns, focusRow } from './focus.ts';
import { readInvoiceNumbers } from './invoices.store.ts';

export interface CostExport {
  readonly orgId: OrgId;
  readonly orgName: string;
  readonly mode: Mode;
  readonly issuer: string;
  readonly period: TimeRange;
}

/** Yields the CSV one day at a time, so that memory holds one day and a slow client holds no database resources. */
export async function* exportCosts(reader: Reader, wanted: CostExport): AsyncGenerator<string> {
  const { orgId, orgName, mode, issuer, period } = wanted;
  yield csvLine(focusColumns);
  const numbers = mode === 'live' ? await readInvoiceNumbers(reader, orgId, period) : new Map();
  const basis = { orgId, orgName, issuer, numbers };
  for (const day of daysOf(period)) {
    const costs = await sumCosts(reader, orgId, { ...day, mode });
    if (costs.length === 0) continue;
    const charged = costs.map(({ resource }) => resource);
    const resources = await readResources(reader, orgId, charged);
    yield costs
      .map((cost) => focusRow(cost, day, resources.get(`${cost.resource.kind}/${cost.resource.id}`), basis))
      .map(focusCsvLine)
      .join('');
  }
}
