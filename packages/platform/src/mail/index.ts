export { domainOf, isSingleAddress, oneLine, parseEmailAddress } from './mail.ts';
export type { Email, EmailAddress, Mailer, SendOutcome } from './mail.ts';
export { createSmtpMailer, type SmtpOptions } from './smtp.ts';
