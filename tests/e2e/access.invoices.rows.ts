import type { OperationId } from '@millrace/contract';
import { plantAuditReport, plantInvoice, testIds } from '@millrace/testing';
import type { SeededOrganisation } from '../../apps/api/src/fixture.ts';
import type { AccessRow } from './access.rows.ts';
import type { Input, World } from './world.ts';

/** The rows of invoices, the cost export and the auditor's reports. */

const nothing = async (): Promise<Input> => ({});

export const invoiceAccessRows: Partial<Record<OperationId, AccessRow>> = {
  listInvoices: { own: nothing, others: 'none' },
  getInvoice: invoiceRow(),
  getInvoicePdf: invoiceRow(),
  exportCosts: { own: nothing, others: 'none' },
  adminListAuditReports: { caller: 'operator', own: nothing, others: 'none' },
  adminGetAuditReport: {
    caller: 'operator',
    own: async ({ fixture, other }) => ({
      params: { reportId: await plantAuditReport(fixture.db, other.organisation.id) },
    }),
    others: { absent: { params: { reportId: testIds.next('rpt') } }, foreign: 'operators see all' },
  },
};

function invoiceRow(): AccessRow {
  return {
    own: (world) => invoiceOf(world, world.acme),
    others: {
      absent: { params: { invoiceId: testIds.next('ivc') } },
      foreign: (world) => invoiceOf(world, world.other),
    },
  };
}

async function invoiceOf({ fixture }: World, who: SeededOrganisation): Promise<Input> {
  return { params: { invoiceId: await plantInvoice(fixture.db, who.organisation.id) } };
}
