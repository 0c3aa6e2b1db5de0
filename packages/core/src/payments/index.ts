export { listUncreditedPayments, type UncreditedPayment } from './uncredited-payments.ts';
export { servePayments, type PaymentRoutes } from './payments.routes.ts';
export { Payments, UNPAID_MAX, type PaymentsOptions } from './payments.service.ts';
export type { StripeGateway, StripeSettings } from './stripe-gateway.ts';
export { stripeGatewayOf } from './stripe-settings.ts';
export { stripeEventTypes } from './stripe-facts.ts';
