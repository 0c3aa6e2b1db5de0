import type { OperationId } from '@millrace/contract';
import type { SeededOrganisation } from '@millrace/core/fixture';
import { insertAuditReport, insertInvoice, testIds } from '@millrace/testing';
import type { AccessRow } from './access.rows.ts';
import type { CallInput, Harness } from './harness.ts';

/** Access rows of invoices, the cost export and audit reports. */

const noInput = async (): Promise<CallInput> => ({});

export const invoiceAccessRows: Partial<Record<OperationId, AccessRow>> = {
  listInvoices: { own: noInput, others: 'none' },
  getInvoice: invoiceRow(),
  getInvoicePdf: invoiceRow(),
  exportCosts: { own: noInput, others: 'none' },
  adminListAuditReports: { caller: 'operator', own: noInput, others: 'none' },
  adminGetAuditReport: {
    caller: 'operator',
    own: async ({ fixture, other }) => ({
      params: { reportId: await insertAuditReport(fixture.db, other.organisation.id) },
    }),
    others: { absent: { params: { reportId: testIds.next('rpt') } }, foreign: 'operators see all' },
  },
};

function invoiceRow(): AccessRow {
  return {
    own: (harness) => insertedInvoice(harness, harness.acme),
    others: {
      absent: { params: { invoiceId: testIds.next('ivc') } },
      foreign: (harness) => insertedInvoice(harness, harness.other),
    },
  };
}

async function insertedInvoice({ fixture }: Harness, who: SeededOrganisation): Promise<CallInput> {
  return { params: { invoiceId: await insertInvoice(fixture.db, who.organisation.id) } };
}
