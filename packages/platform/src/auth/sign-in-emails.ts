import type { EmailAddress } from '../mail/index.ts';
import { oneLine } from '../mail/index.ts';

/** What people are written when they sign in for the first time, or cannot. Pure. */

export interface SignInEmail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** In the order in which a busy person reads: what, where to click, what if it was not you. */
interface EmailContent {
  readonly subject: string;
  readonly lead: string;
  readonly link: string;
  readonly button: string;
  readonly otherwise: string;
}

export function confirmAddressEmail(name: string, link: string): SignInEmail {
  return render({
    subject: `Confirm your mailbox for ${name}`,
    lead: `Welcome to ${name}. Confirm that this mailbox is yours and you can sign in. The link works for an hour.`,
    link,
    button: 'Confirm my mailbox',
    otherwise: 'You did not sign up? Then ignore this mail: nothing happens.',
  });
}

export function choosePasswordEmail(name: string, link: string): SignInEmail {
  return render({
    subject: `Choose your password for ${name}`,
    lead: `Here you choose a new password for ${name}. The link works once, for an hour.`,
    link,
    button: 'Choose a password',
    otherwise: 'You did not ask for this? Then ignore this mail: your password stays as it is.',
  });
}

export function accountExistsEmail(name: string, link: string): SignInEmail {
  return render({
    subject: `You already have an account with ${name}`,
    lead: `Somebody, most likely you, tried to sign up to ${name} with this mailbox. It has an account already: just sign in.`,
    link,
    button: 'Sign in',
    otherwise:
      'You forgot your password? The page to sign in helps you. It was not you? Then ignore this mail.',
  });
}

export function changeAddressEmail(name: string, newEmail: string, link: string): SignInEmail {
  return render({
    subject: `Change your mailbox for ${name}`,
    lead: `You asked ${name} to write to ${newEmail} from now on, and to sign you in with it. Is that right?`,
    link,
    button: 'Yes, change it',
    otherwise:
      'You did not ask for this? Then somebody else is signed in as you: choose a new password, which signs everybody out.',
  });
}

function render({ subject, lead, link, button, otherwise }: EmailContent): SignInEmail {
  return {
    subject: oneLine(subject),
    text: `${oneLine(lead)}\n\n${link}\n\n${otherwise}\n`,
    html:
      '<!doctype html><html lang="en"><body style="font-family:sans-serif;line-height:1.5;max-width:36em">' +
      `<p>${escape(oneLine(lead))}</p><p><a href="${escape(link)}">${escape(button)}</a></p>` +
      `<p style="color:#555">${escape(otherwise)}</p></body></html>`,
  };
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** Never with the name: whoever signs up chooses it, and the mailbox may be a stranger's, who would read an advertisement. */
export function recipientOf(user: { readonly email: string }): EmailAddress {
  return { name: null, address: user.email };
}
