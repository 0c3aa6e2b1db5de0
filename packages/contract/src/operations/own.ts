import type { ContractSchemas } from '../records/index.ts';
import { adminAuditOperations } from './own-admin-audit.ts';
import { adminFleetOperations } from './own-admin-fleet.ts';
import { adminInferenceOperations } from './own-admin-inference.ts';
import { adminMoneyOperations } from './own-admin-money.ts';
import { adminRentalOperations } from './own-admin-rentals.ts';
import { adminSupplierOperations } from './own-admin-suppliers.ts';
import { adminWriteOffOperations } from './own-admin-write-offs.ts';
import { adminOrganisationOperations } from './own-admin.ts';
import { auditOperations } from './own-audit.ts';
import { catalogOperations } from './own-catalog.ts';
import { customerOperations } from './own-customer.ts';
import { documentOperations } from './own-documents.ts';
import { enrolmentOperations } from './own-enrolments.ts';
import { eventOperations } from './own-events.ts';
import { identityOperations } from './own-identity.ts';
import { inferenceOperations } from './own-inference.ts';
import { invoiceOperations } from './own-invoices.ts';
import { keyOperations } from './own-keys.ts';
import { marketplaceOwnOperations } from './own-marketplace.ts';
import { membershipOperations } from './own-memberships.ts';
import { noticeOperations } from './own-notices.ts';
import { paymentOperations } from './own-payments.ts';
import { peopleOperations } from './own-people.ts';
import { rentalOperations } from './own-rentals.ts';
import { supplierOperations } from './own-supplier.ts';
import { volumeOperations } from './own-volumes.ts';

/** Every operation that our own decisions add to the interface. */
export function ownOperations({ providerData }: Pick<ContractSchemas, 'providerData'>) {
  return {
    ...identityOperations,
    ...peopleOperations,
    ...membershipOperations,
    ...noticeOperations,
    ...keyOperations,
    ...auditOperations,
    ...eventOperations,
    ...rentalOperations(providerData),
    ...volumeOperations,
    ...customerOperations,
    ...invoiceOperations,
    ...paymentOperations,
    ...marketplaceOwnOperations,
    ...inferenceOperations,
    ...documentOperations,
    ...catalogOperations,
    ...supplierOperations,
    ...enrolmentOperations,
    ...adminOrganisationOperations,
    ...adminMoneyOperations,
    ...adminAuditOperations,
    ...adminFleetOperations,
    ...adminRentalOperations(providerData),
    ...adminWriteOffOperations,
    ...adminInferenceOperations,
    ...adminSupplierOperations,
  } as const;
}
