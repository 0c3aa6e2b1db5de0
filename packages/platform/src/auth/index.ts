export { createSignIn, passwordHash, type SignIn, type SignInDeps } from './sign-in.ts';
export type { InvitationLinkClaims } from './invitation-link.ts';
export type { EmailOptOuts } from './email-opt-out.ts';
export { resetPassword, setPassword } from './users.store.ts';
export type { OidcProvider, SignInSettings } from './settings.ts';
