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
import { billingOperations } from './own-customer.ts';
import { documentOperations } from './own-documents.ts';
import { enrolmentOperations } from './own-enrolments.ts';
import { eventOperations } from './own-events.ts';
import { organisationOperations } from './own-identity.ts';
import { inferenceExtensions } from './own-inference.ts';
import { invoiceOperations } from './own-invoices.ts';
import { keyOperations } from './own-keys.ts';
import { marketplaceExtensions } from './own-marketplace.ts';
import { membershipOperations } from './own-memberships.ts';
import { noticeOperations } from './own-notices.ts';
import { paymentOperations } from './own-payments.ts';
import { sessionOperations } from './own-people.ts';
import { rentalExtensions } from './own-rentals.ts';
import { supplierOperations } from './own-supplier.ts';
import { volumeExtensions } from './own-volumes.ts';

/** Every operation that our own decisions add to the interface. */
export function extensionOperations({ providerData }: Pick<ContractSchemas, 'providerData'>) {
  return {
    ...organisationOperations,
    ...sessionOperations,
    ...membershipOperations,
    ...noticeOperations,
    ...keyOperations,
    ...auditOperations,
    ...eventOperations,
    ...rentalExtensions(providerData),
    ...volumeExtensions,
    ...billingOperations,
    ...invoiceOperations,
    ...paymentOperations,
    ...marketplaceExtensions,
    ...inferenceExtensions,
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
