export { serveInvoices, type InvoiceRoutes } from './invoices.routes.ts';
export { makeDueInvoices } from './invoices.service.ts';
