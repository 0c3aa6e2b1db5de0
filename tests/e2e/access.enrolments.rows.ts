import type { OperationId } from '@millrace/contract';
import type { SeededOrganisation } from '@millrace/core/fixture';
import { makeCertificate, insertSupplier, insertSupplierMachine, testIds, uniqueId } from '@millrace/testing';
import type { AccessRow } from './access.rows.ts';
import { createJoinToken } from './access.suppliers.rows.ts';
import type { CallInput, Harness } from './harness.ts';

/** Access rows of enrolments. */

export const enrolmentAccessRows: Partial<Record<OperationId, AccessRow>> = {
  supplierStartEnrolment: {
    own: async (harness) => ({
      body: { ...(await newDaemonInput()), token: (await createJoinToken(harness, harness.acme)).token },
    }),
    others: 'none',
  },
  supplierListEnrolments: { own: async (harness) => createEnrolment(harness, harness.acme), others: 'none' },
  supplierGetEnrolment: {
    own: (harness) => createEnrolment(harness, harness.acme),
    others: {
      absent: { params: { enrolmentId: testIds.next('enr') } },
      foreign: (harness) => createEnrolment(harness, harness.other),
    },
  },
};

/** A host's description of its daemon: address, certificate, and a token that names the certificate. */
export async function newDaemonInput() {
  const name = `host-${uniqueId()}`;
  const { certificate, fingerprint } = await makeCertificate(name);
  const token = { client_name: 'millrace', fingerprint, addresses: ['203.0.113.7:8443'], secret: uniqueId() };
  return {
    name,
    endpoint: `https://${name}.example.com:8443`,
    serverCertificate: certificate,
    incusToken: Buffer.from(JSON.stringify(token)).toString('base64'),
  };
}

async function createEnrolment({ fixture: { db } }: Harness, who: SeededOrganisation): Promise<CallInput> {
  const orgId = who.organisation.id;
  await insertSupplier(db, { orgId });
  const { machineId } = await insertSupplierMachine(db, { orgId });
  return { params: { enrolmentId: machineId } };
}
