import type { ContractSchemas } from '../records/index.ts';
import { adminAuditOperations } from './admin/audit-reports.ts';
import { adminFleetOperations } from './admin/fleet.ts';
import { adminHealthOperations } from './admin/health.ts';
import { adminInferenceOperations } from './admin/inference.ts';
import { adminMoneyOperations } from './admin/money.ts';
import { adminOverviewOperations } from './admin/overview.ts';
import { adminRentalOperations } from './admin/rentals.ts';
import { adminSupplierOperations } from './admin/suppliers.ts';
import { adminWriteOffOperations } from './admin/write-offs.ts';
import { adminOrganisationOperations } from './admin/organisations.ts';
import { auditOperations } from './v2/audit-log.ts';
import { catalogOperations } from './v2/catalog.ts';
import { billingOperations } from './v2/billing.ts';
import { documentOperations } from './v1/documents.ts';
import { enrolmentOperations } from './supplier/enrolments.ts';
import { eventOperations } from './v2/events.ts';
import { organisationOperations } from './v2/organisations.ts';
import { inferenceExtensions } from './v1/inference-extensions.ts';
import { invoiceOperations } from './v2/invoices.ts';
import { keyOperations } from './v2/keys.ts';
import { marketplaceExtensions } from './v1/marketplace-extensions.ts';
import { membershipOperations } from './v2/memberships.ts';
import { noticeOperations } from './v2/notices.ts';
import { paymentOperations } from './v2/payments.ts';
import { sessionOperations } from './v2/sessions.ts';
import { rentalExtensions } from './v2/rental-extensions.ts';
import { supplierOperations } from './supplier/machines.ts';
import { volumeExtensions } from './v2/volume-extensions.ts';

/** All extension operations: those that Millrace adds to the baseline. */
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
    ...adminOverviewOperations,
    ...adminHealthOperations,
    ...adminRentalOperations(providerData),
    ...adminWriteOffOperations,
    ...adminInferenceOperations,
    ...adminSupplierOperations,
  } as const;
}
