import type { EmailAddress } from '../mail/index.ts';
import { oneLine } from '../mail/index.ts';

/** Composes the sign-in emails. Pure. */

export interface SignInEmail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** The fields appear in this order in the email. */
interface EmailContent {
  readonly subject: string;
  readonly lead: string;
  readonly link: string;
  readonly button: string;
  readonly otherwise: string;
}

export function confirmAddressEmail(name: string, link: string): SignInEmail {
  return render({
    subject: `Confirm your email address for ${name}`,
    lead: `Welcome to ${name}. Confirm your email address to sign in. The link works for one hour.`,
    link,
    button: 'Confirm email address',
    otherwise: 'If you did not sign up, ignore this email. Nothing happens without your confirmation.',
  });
}

export function choosePasswordEmail(name: string, link: string): SignInEmail {
  return render({
    subject: `Choose your password for ${name}`,
    lead: `Choose a new password for ${name}. The link works once, within one hour.`,
    link,
    button: 'Choose a password',
    otherwise: 'If you did not request this, ignore this email. Your password stays the same.',
  });
}

export function accountExistsEmail(name: string, link: string): SignInEmail {
  return render({
    subject: `You already have an account with ${name}`,
    lead: `Someone, probably you, tried to sign up to ${name} with this email address. It already has an account: sign in instead.`,
    link,
    button: 'Sign in',
    otherwise:
      'Forgot your password? You can reset it on the sign-in page. If it was not you, ignore this email.',
  });
}

export function changeAddressEmail(name: string, newEmail: string, link: string): SignInEmail {
  return render({
    subject: `Change your email address for ${name}`,
    lead: `You asked to change your email address for ${name} to ${newEmail}. You will sign in with the new address. Confirm the change:`,
    link,
    button: 'Change email address',
    otherwise:
      'If you did not request this, someone else is signed in as you. Choose a new password: it signs out all sessions.',
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

/** Omits the name: the person who signs up chooses it, and could advertise in an email to someone else's address. */
export function recipientOf(user: { readonly email: string }): EmailAddress {
  return { name: null, address: user.email };
}
