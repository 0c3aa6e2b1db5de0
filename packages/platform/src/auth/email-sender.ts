import { randomUUID } from 'node:crypto';
import type { Timer } from '../clock/index.ts';
import type { Logger } from '../log/index.ts';
import { domainOf, isSingleAddress, type Email, type EmailAddress, type Mailer } from '../mail/index.ts';
import type { SignInEmail } from './sign-in-emails.ts';

export interface EmailSender {
  /** Sends in the background, so that the response time does not reveal whether an email was sent. */
  send(to: EmailAddress, email: SignInEmail): void;
  /** Resolves when no email is in flight. */
  settled(): Promise<void>;
}

const RETRY_DELAYS_MS = [2_000, 10_000, 60_000] as const;

/** Sends sign-in emails from memory: if the process dies, the user requests the lost email again. */
export function createEmailSender(deps: {
  readonly mailer: Mailer;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'warn'>;
}): EmailSender {
  const { mailer, clock, log } = deps;
  const underWay = new Set<Promise<void>>();

  async function deliver(email: Email): Promise<void> {
    for (const pauseMs of [...RETRY_DELAYS_MS, null]) {
      const outcome = await mailer.send(email);
      if (outcome.kind === 'sent') return;
      if (outcome.kind === 'refused' || pauseMs === null) {
        log.warn({ outcome: outcome.kind, reason: outcome.reason }, 'sign-in email was not delivered');
        return;
      }
      await clock.sleep(pauseMs);
    }
  }

  return {
    send(to, { subject, text, html }) {
      if (!isSingleAddress(to.address)) return;
      const messageId = `${randomUUID()}@${domainOf(mailer.from)}`;
      const sending = deliver({ messageId, to, subject, text, html })
        .catch((error: unknown) => log.warn({ error }, 'sign-in email could not be composed'))
        .finally(() => underWay.delete(sending));
      underWay.add(sending);
    },
    settled: async () => {
      await Promise.allSettled(underWay);
    },
  };
}
