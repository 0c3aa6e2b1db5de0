import { randomUUID } from 'node:crypto';
import type { Timer } from '../clock/index.ts';
import type { Logger } from '../log/index.ts';
import { domainOf, isSingleAddress, type Email, type EmailAddress, type Mailer } from '../mail/index.ts';
import type { SignInEmail } from './sign-in-emails.ts';

export interface EmailSender {
  /** Sends in the background: who waits for an answer must not learn from its delay whether anything was sent. */
  send(to: EmailAddress, email: SignInEmail): void;
  /** Resolves when nothing is under way any more. */
  settled(): Promise<void>;
}

const RETRY_DELAYS_MS = [2_000, 10_000, 60_000] as const;

/**
 * Letters that a person is waiting for. They are not kept: what is lost with the process is asked for again by the person,
 * by a click.
 */
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
        log.warn(
          { outcome: outcome.kind, reason: outcome.reason },
          'a letter for signing in was not delivered',
        );
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
        .catch((error: unknown) => log.warn({ error }, 'a letter for signing in could not be written'))
        .finally(() => underWay.delete(sending));
      underWay.add(sending);
    },
    settled: async () => {
      await Promise.allSettled(underWay);
    },
  };
}
