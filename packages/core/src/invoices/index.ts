export { serveInvoices, type InvoiceRoutes } from './invoices.routes.ts';
export { lastInvoiceNumber, skipInvoiceNumbers } from './invoices.store.ts';
export { makeDueInvoices } from './invoices.service.ts';
