import type { CheckName } from './checks/checks.ts';
import type { SeededCharges } from './charges.fixture.ts';
import type { SeededInvoice } from './invoices.fixture.ts';
import type { SeededSupplierMoney } from './suppliers.fixture.ts';
import type { AuditedLedger } from './audited-ledger.fixture.ts';

export type SeededLedger = AuditedLedger & SeededCharges & SeededSupplierMoney & SeededInvoice;

export interface AuditCase {
  readonly what: string;
  readonly alter: (harness: SeededLedger) => readonly string[];
  /** Exactly these findings, in any order: the check and its subject. */
  readonly names: (harness: SeededLedger) => readonly (readonly [CheckName, string])[];
}

export const fakeId = '00000000-0000-7000-8000-000000000001';
