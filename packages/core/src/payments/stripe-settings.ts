import type { StripeGateway } from './stripe-gateway.ts';

/**
 * As the settings have it: without the secrets there is nothing to talk to. Then Stripe's library is not loaded either: its two
 * hundred files are a good part of the time in which a process starts.
 */
export async function stripeGatewayOf(settings: {
  readonly secretKey: string | null;
  readonly webhookSecret: string | null;
  readonly apiUrl: string;
}): Promise<StripeGateway | null> {
  const { secretKey, webhookSecret, apiUrl } = settings;
  if (secretKey === null || webhookSecret === null) return null;
  const { createStripeGateway } = await import('./stripe-gateway.ts');
  return createStripeGateway({ secretKey, webhookSecret, apiUrl });
}
