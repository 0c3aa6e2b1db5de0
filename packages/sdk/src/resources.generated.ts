// Written by npm run sdk from the contract and namespaces.ts. Do not edit; a test compares it.

import type { ApiPromise } from './api-promise.ts';
import type { RequestOptions } from './options.ts';
import type { PagePromise } from './page.ts';
import type { StreamPromise } from './stream.ts';
import type { Output, Input, Item, StreamItem } from './types.ts';
import type { InstanceWaiters, RentalWaiters, VolumeWaiters } from './wait.ts';

export interface MeResource {
  /** Read who you are and what you can do. */
  get(input?: Input<'getMe'>, options?: RequestOptions): ApiPromise<Output<'getMe'>>;
  /**
   * Read your email notice preferences.
   *
   * The preferences of this user in this organisation. Live and test mode have separate preferences; in test mode, notices are off unless enabled.
   */
  getNoticePreferences(input?: Input<'getNoticePreferences'>, options?: RequestOptions): ApiPromise<Output<'getNoticePreferences'>>;
  /** Choose your email notices. */
  updateNoticePreferences(input: Input<'updateNoticePreferences'>, options?: RequestOptions): ApiPromise<Output<'updateNoticePreferences'>>;
  /** List your organisations. */
  listOrganisations(input?: Input<'listMyOrganisations'>, options?: RequestOptions): PagePromise<Item<'listMyOrganisations'>, Output<'listMyOrganisations'>>;
  /** List open invitations to your email address. */
  listInvitations(input?: Input<'listMyInvitations'>, options?: RequestOptions): PagePromise<Item<'listMyInvitations'>, Output<'listMyInvitations'>>;
  /**
   * Accept an invitation.
   *
   * Accepting twice returns the same result. If the installation sends no email, it needs the secret of the invitation link.
   */
  acceptInvitation(input: Input<'acceptInvitation'>, options?: RequestOptions): ApiPromise<Output<'acceptInvitation'>>;
  /**
   * Decline an invitation.
   *
   * If the installation sends no email, it needs the secret of the invitation link.
   */
  declineInvitation(input: Input<'declineInvitation'>, options?: RequestOptions): ApiPromise<Output<'declineInvitation'>>;
  /** List your sessions. */
  listSessions(input?: Input<'listMySessions'>, options?: RequestOptions): PagePromise<Item<'listMySessions'>, Output<'listMySessions'>>;
  /**
   * End one of your sessions.
   *
   * The session is refused everywhere within a second. You can also end the session of this request.
   */
  endSession(input: Input<'endMySession'>, options?: RequestOptions): ApiPromise<Output<'endMySession'>>;
}

export interface OrganisationsResource {
  /**
   * Create an organisation and own it.
   *
   * If you send the same name twice within ten minutes, the second response returns the first organisation. A user can own at most ten.
   */
  create(input: Input<'createOrganisation'>, options?: RequestOptions): ApiPromise<Output<'createOrganisation'>>;
  /** List the organisations of the caller. */
  list(input?: Input<'listOrganisations'>, options?: RequestOptions): PagePromise<Item<'listOrganisations'>, Output<'listOrganisations'>>;
  /** Read an organisation. */
  get(input: Input<'getOrganisation'>, options?: RequestOptions): ApiPromise<Output<'getOrganisation'>>;
  /** Change an organisation. */
  update(input: Input<'updateOrganisation'>, options?: RequestOptions): ApiPromise<Output<'updateOrganisation'>>;
}

export interface InvitationsResource {
  /** List open invitations. */
  list(input: Input<'listInvitations'>, options?: RequestOptions): PagePromise<Item<'listInvitations'>, Output<'listInvitations'>>;
  /**
   * Invite a person to the organisation.
   *
   * Open for seven days. Inviting the same email address again renews the invitation with the new role. The role must not have more rights than the inviter. If the installation sends no email, the response has a link, shown only once: give it to the person.
   */
  create(input: Input<'inviteMember'>, options?: RequestOptions): ApiPromise<Output<'inviteMember'>>;
  /** Withdraw an invitation. */
  cancel(input: Input<'cancelInvitation'>, options?: RequestOptions): ApiPromise<Output<'cancelInvitation'>>;
}

export interface MembersResource {
  /** List the members of an organisation. */
  list(input: Input<'listMembers'>, options?: RequestOptions): PagePromise<Item<'listMembers'>, Output<'listMembers'>>;
  /**
   * Change the role of a member.
   *
   * You cannot give a role with more scopes than yours. Removing the last owner is refused with 409.
   */
  update(input: Input<'updateMember'>, options?: RequestOptions): ApiPromise<Output<'updateMember'>>;
  /** Remove a member and revoke the keys they created here. */
  remove(input: Input<'removeMember'>, options?: RequestOptions): ApiPromise<Output<'removeMember'>>;
}

export interface KeysResource {
  /**
   * Create an API key.
   *
   * Only this response contains the key. A key cannot have more rights than its creator.
   */
  create(input: Input<'createApiKey'>, options?: RequestOptions): ApiPromise<Output<'createApiKey'>>;
  /** List API keys, newest first. */
  list(input?: Input<'listApiKeys'>, options?: RequestOptions): PagePromise<Item<'listApiKeys'>, Output<'listApiKeys'>>;
  /** Read an API key, without its secret. */
  get(input: Input<'getApiKey'>, options?: RequestOptions): ApiPromise<Output<'getApiKey'>>;
  /**
   * Replace an API key with a new one with the same rights.
   *
   * The replaced key keeps working for `overlapSeconds`, so that you can update callers.
   */
  rotate(input: Input<'rotateApiKey'>, options?: RequestOptions): ApiPromise<Output<'rotateApiKey'>>;
  /**
   * Revoke an API key.
   *
   * The key is refused everywhere within a second. Revoking twice returns the same result.
   */
  revoke(input: Input<'revokeApiKey'>, options?: RequestOptions): ApiPromise<Output<'revokeApiKey'>>;
}

export interface SshKeysResource {
  /**
   * Add an SSH public key.
   *
   * Accepts OpenSSH, PEM and PuTTY (PPK) formats. Private, weak or damaged keys are refused with the reason, and private keys are not stored.
   */
  create(input: Input<'createSshPublicKey'>, options?: RequestOptions): ApiPromise<Output<'createSshPublicKey'>>;
  /** List your SSH public keys. */
  list(input?: Input<'listSshPublicKeys'>, options?: RequestOptions): PagePromise<Item<'listSshPublicKeys'>, Output<'listSshPublicKeys'>>;
  /**
   * Remove an SSH public key.
   *
   * Running machines keep it; new ones do not get it.
   */
  delete(input: Input<'deleteSshPublicKey'>, options?: RequestOptions): ApiPromise<Output<'deleteSshPublicKey'>>;
}

export interface AuditLogResource {
  /** Read the audit log, newest first. */
  list(input?: Input<'listAuditLog'>, options?: RequestOptions): PagePromise<Item<'listAuditLog'>, Output<'listAuditLog'>>;
}

export interface OperationsResource {
  /** Read the result of a request by its record. */
  get(input: Input<'getOperation'>, options?: RequestOptions): ApiPromise<Output<'getOperation'>>;
  /**
   * Find the result of a request by its idempotency key.
   *
   * An unknown key gets 404: the request never arrived, was refused, or is older than 30 days.
   */
  find(input: Input<'findOperation'>, options?: RequestOptions): ApiPromise<Output<'findOperation'>>;
}

export interface EventsResource {
  /**
   * Read the event feed, oldest first.
   *
   * Returns a page. With `Accept: text/event-stream` the response stays open and sends every later event: `id` is the `seq`, so a client that reconnects with `Last-Event-ID` continues without gaps or repeats. `after=latest` skips past events: the page is empty and has the current position in `nextAfter`; the stream sends that position first, as an `id` without data, so that no event is skipped if it breaks before the first one.
   */
  list(input?: Input<'listEvents'>, options?: RequestOptions): PagePromise<Item<'listEvents'>, Output<'listEvents'>>;
  /** Read the event feed, oldest first, and follow new events. */
  stream(input?: Input<'listEvents'>, options?: RequestOptions): StreamPromise<StreamItem<'listEvents'>>;
}

export interface WebhooksResource {
  /**
   * Create a webhook.
   *
   * Deliveries follow Standard Webhooks 1.0 and are signed with the secret in the response. A webhook created with a test key gets test events, one created with a live key gets live events.
   */
  create(input: Input<'createWebhook'>, options?: RequestOptions): ApiPromise<Output<'createWebhook'>>;
  /** List webhooks. */
  list(input?: Input<'listWebhooks'>, options?: RequestOptions): PagePromise<Item<'listWebhooks'>, Output<'listWebhooks'>>;
  /** Read a webhook. */
  get(input: Input<'getWebhook'>, options?: RequestOptions): ApiPromise<Output<'getWebhook'>>;
  /** Change, disable or enable a webhook. */
  update(input: Input<'updateWebhook'>, options?: RequestOptions): ApiPromise<Output<'updateWebhook'>>;
  /** Delete a webhook. */
  delete(input: Input<'deleteWebhook'>, options?: RequestOptions): ApiPromise<Output<'deleteWebhook'>>;
  /**
   * Rotate the signing secret of a webhook.
   *
   * For `overlapSeconds`, every delivery has a signature of each of the two secrets.
   */
  rotateSecret(input: Input<'rotateWebhookSecret'>, options?: RequestOptions): ApiPromise<Output<'rotateWebhookSecret'>>;
  /** List deliveries and their attempts, newest first. */
  listDeliveries(input: Input<'listWebhookDeliveries'>, options?: RequestOptions): PagePromise<Item<'listWebhookDeliveries'>, Output<'listWebhookDeliveries'>>;
  /** Send one delivery again. */
  replayDelivery(input: Input<'replayWebhookDelivery'>, options?: RequestOptions): ApiPromise<Output<'replayWebhookDelivery'>>;
  /**
   * Send all events of a range again, in order.
   *
   * Sends the events in the feed that the webhook subscribes to, whether they were sent before or not. Events of one resource are sent in order, one after the other.
   */
  replay(input: Input<'replayWebhook'>, options?: RequestOptions): ApiPromise<Output<'replayWebhook'>>;
}

export interface InstallationResource {
  /** Read the sign-in options of this installation. */
  get(input?: Input<'getInstallation'>, options?: RequestOptions): ApiPromise<Output<'getInstallation'>>;
}

export interface CatalogResource {
  /**
   * Read what can be rented and called now, without signing in.
   *
   * Offers, terms, models and machines of live mode at list prices. Responds with 404 if the operator has disabled it.
   */
  get(input?: Input<'getCatalog'>, options?: RequestOptions): ApiPromise<Output<'getCatalog'>>;
}

export interface OptionsResource {
  /** List what can be rented now, with prices. */
  list(input?: Input<'listRentalOptions'>, options?: RequestOptions): PagePromise<Item<'listRentalOptions'>, Output<'listRentalOptions'>>;
  /** List the reserved terms on offer. */
  listReserve(input?: Input<'listReserveOptions'>, options?: RequestOptions): PagePromise<Item<'listReserveOptions'>, Output<'listReserveOptions'>>;
  /** Quote the cost and the hold of a rental. */
  quote(input: Input<'quoteRental'>, options?: RequestOptions): ApiPromise<Output<'quoteRental'>>;
  /** Explain why a rental can or cannot be placed, with alternatives. */
  explain(input: Input<'explainPlacement'>, options?: RequestOptions): ApiPromise<Output<'explainPlacement'>>;
}

export interface RentalsResource extends RentalWaiters {
  /** Create a virtual-machine rental. */
  createVirtualMachine(input: Input<'createVirtualMachineRental'>, options?: RequestOptions): ApiPromise<Output<'createVirtualMachineRental'>>;
  /** Create a bare-metal rental. */
  createBareMetal(input: Input<'createBareMetalRental'>, options?: RequestOptions): ApiPromise<Output<'createBareMetalRental'>>;
  /** List live rentals of both types, newest first. */
  list(input?: Input<'listRentals'>, options?: RequestOptions): PagePromise<Item<'listRentals'>, Output<'listRentals'>>;
  /** List live virtual-machine rentals. */
  listVirtualMachines(input?: Input<'listVirtualMachineRentals'>, options?: RequestOptions): PagePromise<Item<'listVirtualMachineRentals'>, Output<'listVirtualMachineRentals'>>;
  /**
   * List active bare-metal rentals.
   *
   * Without a limit, all live rentals are listed.
   */
  listBareMetal(input?: Input<'listBareMetalRentals'>, options?: RequestOptions): PagePromise<Item<'listBareMetalRentals'>, Output<'listBareMetalRentals'>>;
  /**
   * List ended rentals, newest first.
   *
   * `from` and `until` filter by end time.
   */
  listHistory(input?: Input<'listRentalHistory'>, options?: RequestOptions): PagePromise<Item<'listRentalHistory'>, Output<'listRentalHistory'>>;
  /** Read a rental of either type. */
  get(input: Input<'getRental'>, options?: RequestOptions): ApiPromise<Output<'getRental'>>;
  /**
   * Change the settings of a rental.
   *
   * Omitted fields stay unchanged; `tags` are replaced as a whole.
   */
  update(input: Input<'updateRental'>, options?: RequestOptions): ApiPromise<Output<'updateRental'>>;
  /**
   * Start a stopped rental.
   *
   * After a stop that released its GPUs, it is placed again, or stays off if there is not enough capacity.
   */
  start(input: Input<'startRental'>, options?: RequestOptions): ApiPromise<Output<'startRental'>>;
  /** Stop a rental and keep its disk. */
  stop(input: Input<'stopRental'>, options?: RequestOptions): ApiPromise<Output<'stopRental'>>;
  /** Reboot a rental. */
  reboot(input: Input<'rebootRental'>, options?: RequestOptions): ApiPromise<Output<'rebootRental'>>;
  /** Extend a reserved term from its current end, or a TTL. */
  extend(input: Input<'extendRental'>, options?: RequestOptions): ApiPromise<Output<'extendRental'>>;
  /**
   * Terminate a virtual-machine rental and get its receipt.
   *
   * Billing stops at the accepted request. Terminating twice returns the same result.
   */
  terminateVirtualMachine(input: Input<'terminateVirtualMachineRental'>, options?: RequestOptions): ApiPromise<Output<'terminateVirtualMachineRental'>>;
  /**
   * Terminate a bare-metal rental and get its receipt.
   *
   * Billing stops at the accepted request. Terminating twice returns the same result.
   */
  terminateBareMetal(input: Input<'terminateBareMetalRental'>, options?: RequestOptions): ApiPromise<Output<'terminateBareMetalRental'>>;
  /**
   * List the events of a rental, oldest first.
   *
   * With `Accept: text/event-stream` the response stays open and sends later events: `id` is the `seq`, so a client that reconnects with `Last-Event-ID` continues where it stopped.
   */
  listEvents(input: Input<'listRentalEvents'>, options?: RequestOptions): PagePromise<Item<'listRentalEvents'>, Output<'listRentalEvents'>>;
  /** Read the utilisation over time. */
  getMetrics(input: Input<'getRentalMetrics'>, options?: RequestOptions): ApiPromise<Output<'getRentalMetrics'>>;
  /** Read the end of the serial console. */
  getConsole(input: Input<'getRentalConsole'>, options?: RequestOptions): ApiPromise<Output<'getRentalConsole'>>;
  /** Read the cost of a rental, by meter and transfer. */
  getCost(input: Input<'getRentalCost'>, options?: RequestOptions): ApiPromise<Output<'getRentalCost'>>;
  /** Request a reservation for a large instance. */
  requestReservation(input: Input<'requestReservation'>, options?: RequestOptions): ApiPromise<Output<'requestReservation'>>;
  /** List the events of a rental, oldest first, and follow new events. */
  streamEvents(input: Input<'listRentalEvents'>, options?: RequestOptions): StreamPromise<StreamItem<'listRentalEvents'>>;
}

export interface VolumesResource extends VolumeWaiters {
  /** Create a storage volume. */
  create(input: Input<'createStorageVolume'>, options?: RequestOptions): ApiPromise<Output<'createStorageVolume'>>;
  /**
   * List storage volumes.
   *
   * Without a limit, all live volumes are listed.
   */
  list(input?: Input<'listStorageVolumes'>, options?: RequestOptions): PagePromise<Item<'listStorageVolumes'>, Output<'listStorageVolumes'>>;
  /**
   * Read a volume.
   *
   * Also works for a deleted volume while its data is kept.
   */
  get(input: Input<'getStorageVolume'>, options?: RequestOptions): ApiPromise<Output<'getStorageVolume'>>;
  /**
   * Quote the price of a volume.
   *
   * At current prices. It reserves nothing.
   */
  quote(input: Input<'quoteStorageVolume'>, options?: RequestOptions): ApiPromise<Output<'quoteStorageVolume'>>;
  /** Change the label of a volume or grow it. */
  update(input: Input<'updateStorageVolume'>, options?: RequestOptions): ApiPromise<Output<'updateStorageVolume'>>;
  /**
   * Delete a volume; its data is kept for the retention period.
   *
   * Deleting twice returns the same result. Deleting an attached volume is refused with 409.
   */
  delete(input: Input<'deleteStorageVolume'>, options?: RequestOptions): ApiPromise<Output<'deleteStorageVolume'>>;
  /** Attach a storage volume to bare-metal rentals. */
  attach(input: Input<'attachStorageVolume'>, options?: RequestOptions): ApiPromise<Output<'attachStorageVolume'>>;
  /** Detach a volume from rentals. */
  detach(input: Input<'detachStorageVolume'>, options?: RequestOptions): ApiPromise<Output<'detachStorageVolume'>>;
  /** Take a snapshot of a volume. */
  createSnapshot(input: Input<'createStorageVolumeSnapshot'>, options?: RequestOptions): ApiPromise<Output<'createStorageVolumeSnapshot'>>;
  /** List the snapshots of a volume, newest first. */
  listSnapshots(input: Input<'listStorageVolumeSnapshots'>, options?: RequestOptions): PagePromise<Item<'listStorageVolumeSnapshots'>, Output<'listStorageVolumeSnapshots'>>;
  /** Delete a snapshot. */
  deleteSnapshot(input: Input<'deleteStorageVolumeSnapshot'>, options?: RequestOptions): ApiPromise<Output<'deleteStorageVolumeSnapshot'>>;
  /**
   * Restore a snapshot into a new volume, or into its own volume if it is not attached.
   *
   * Into a new volume: it is created on the storage node of the snapshot, is `inactive` until it has the content of the snapshot, and is billed like any other volume once it is `active`. Into the same volume: everything written since the snapshot is lost. The volume is `inactive` during the restore, keeps its price, and is `active` again with the content of the snapshot, or with its old content if the restore failed.
   */
  restoreSnapshot(input: Input<'restoreStorageVolumeSnapshot'>, options?: RequestOptions): ApiPromise<Output<'restoreStorageVolumeSnapshot'>>;
}

export interface MarketplaceInstancesResource extends InstanceWaiters {
  /** Create a marketplace instance. */
  create(input: Input<'createMarketplaceInstance'>, options?: RequestOptions): ApiPromise<Output<'createMarketplaceInstance'>>;
  /** List marketplace instances. */
  list(input?: Input<'listMarketplaceInstances'>, options?: RequestOptions): PagePromise<Item<'listMarketplaceInstances'>, Output<'listMarketplaceInstances'>>;
  /** List marketplace instances. */
  listByPost(input?: Input<'listMarketplaceInstancesByPost'>, options?: RequestOptions): PagePromise<Item<'listMarketplaceInstancesByPost'>, Output<'listMarketplaceInstancesByPost'>>;
  /**
   * List marketplace instances that have ended.
   *
   * Last ended first, at most 1000 per page.
   */
  listHistory(input?: Input<'listMarketplaceInstanceHistory'>, options?: RequestOptions): PagePromise<Item<'listMarketplaceInstanceHistory'>, Output<'listMarketplaceInstanceHistory'>>;
  /**
   * Read one marketplace instance with its steps and cost.
   *
   * Also after it has ended.
   */
  get(input: Input<'getMarketplaceInstance'>, options?: RequestOptions): ApiPromise<Output<'getMarketplaceInstance'>>;
  /**
   * Terminate a marketplace instance.
   *
   * Terminating again returns success.
   */
  terminate(input: Input<'terminateMarketplaceInstance'>, options?: RequestOptions): ApiPromise<Output<'terminateMarketplaceInstance'>>;
}

export interface MarketplaceResource {
  /**
   * List all available machines.
   *
   * Without a limit, the response has the whole list, compressed if the client accepts gzip. Unknown filters are named in `X-Ignored-Filters`. Machines in mock-region, which test keys use, are listed only if you filter by that region.
   */
  list(input?: Input<'listMarketplaceMachines'>, options?: RequestOptions): PagePromise<Item<'listMarketplaceMachines'>, Output<'listMarketplaceMachines'>>;
  readonly instances: MarketplaceInstancesResource;
}

export interface BalanceResource {
  /** Read the balance, its holds and the runway. */
  get(input?: Input<'getBalance'>, options?: RequestOptions): ApiPromise<Output<'getBalance'>>;
  /** Read the current balance. */
  getCredits(input?: Input<'getCurrentBalance'>, options?: RequestOptions): ApiPromise<Output<'getCurrentBalance'>>;
  /**
   * List the deposits of the organisation, newest first.
   *
   * The newest 1000 payments and grants; `GET /v2/customer/ledger` lists all of them.
   */
  listPurchases(input?: Input<'listPurchaseHistory'>, options?: RequestOptions): PagePromise<Item<'listPurchaseHistory'>, Output<'listPurchaseHistory'>>;
}

export interface LedgerResource {
  /** List all changes of the balance with their causes, newest first. */
  list(input?: Input<'listLedgerEntries'>, options?: RequestOptions): PagePromise<Item<'listLedgerEntries'>, Output<'listLedgerEntries'>>;
}

export interface InvoicesResource {
  /**
   * List invoices, newest first.
   *
   * One per calendar month (UTC) with charges or refunds, issued some hours after its end. Test mode is free and has no invoices.
   */
  list(input?: Input<'listInvoices'>, options?: RequestOptions): PagePromise<Item<'listInvoices'>, Output<'listInvoices'>>;
  /** Read an invoice with its lines. */
  get(input: Input<'getInvoice'>, options?: RequestOptions): ApiPromise<Output<'getInvoice'>>;
  /** Download an invoice as a PDF file. */
  getPdf(input: Input<'getInvoicePdf'>, options?: RequestOptions): ApiPromise<Output<'getInvoicePdf'>>;
}

export interface UsageResource {
  /**
   * Read usage and cost, grouped.
   *
   * Days are in UTC and listed newest first; other groups are listed by name. Without `from`, the period is the 31 days before `until`. A period is at most 366 days.
   */
  list(input?: Input<'getUsage'>, options?: RequestOptions): PagePromise<Item<'getUsage'>, Output<'getUsage'>>;
  /** Read the usage and cost of one inference request. */
  getRequest(input: Input<'getRequestUsage'>, options?: RequestOptions): ApiPromise<Output<'getRequestUsage'>>;
  /**
   * Read the cost of inference requests, in nano-USD.
   *
   * Ids come from the `X-Inference-Request-Id` header. Unknown ids, ids of other organisations and ids of running requests are omitted.
   */
  getRequestCosts(input: Input<'getRequestCost'>, options?: RequestOptions): ApiPromise<Output<'getRequestCost'>>;
  /**
   * List the requests of one inference batch.
   *
   * A ledger line of inference has the cause `inference` and the id of a batch. The costs of the requests in the batch add up to the amount of the line. Oldest first.
   */
  listBatchRequests(input: Input<'listBatchRequests'>, options?: RequestOptions): PagePromise<Item<'listBatchRequests'>, Output<'listBatchRequests'>>;
  /**
   * Export all costs as CSV, in the columns of FOCUS 1.2.
   *
   * One row per day (UTC), resource, unit and API key, oldest first. `BilledCost` adds up to the charges of the ledger less refunds, to the nano-USD. Without `from`, the month of `until` so far; at most 366 days. A response without its last chunk is incomplete.
   */
  exportCosts(input?: Input<'exportCosts'>, options?: RequestOptions): ApiPromise<Output<'exportCosts'>>;
}

export interface LimitsResource {
  /** Read the rate limits and quotas of the organisation and their use. */
  get(input?: Input<'getLimits'>, options?: RequestOptions): ApiPromise<Output<'getLimits'>>;
}

export interface BudgetsResource {
  /**
   * Create a budget.
   *
   * An organisation has at most 50 budgets. The total of all budgets and key limits is at most 100000000 USD. Periods are in UTC: whole hours, days, weeks from Monday and months.
   */
  create(input: Input<'createBudget'>, options?: RequestOptions): ApiPromise<Output<'createBudget'>>;
  /** List budgets. */
  list(input?: Input<'listBudgets'>, options?: RequestOptions): PagePromise<Item<'listBudgets'>, Output<'listBudgets'>>;
  /** Change a budget. */
  update(input: Input<'updateBudget'>, options?: RequestOptions): ApiPromise<Output<'updateBudget'>>;
  /** Delete a budget. */
  delete(input: Input<'deleteBudget'>, options?: RequestOptions): ApiPromise<Output<'deleteBudget'>>;
}

export interface TopUpsResource {
  /**
   * Start a top-up and get its payment page.
   *
   * The balance changes when the payment is confirmed and `balance.topped_up` is sent; a redirect to `successUrl` proves nothing. The same `Idempotency-Key` always leads to the same payment page.
   */
  create(input: Input<'createTopUp'>, options?: RequestOptions): ApiPromise<Output<'createTopUp'>>;
  /** List top-ups, newest first. */
  list(input?: Input<'listTopUps'>, options?: RequestOptions): PagePromise<Item<'listTopUps'>, Output<'listTopUps'>>;
  /** Read a top-up. */
  get(input: Input<'getTopUp'>, options?: RequestOptions): ApiPromise<Output<'getTopUp'>>;
}

export interface ModelsResource {
  /** List the models that you can call. */
  list(input?: Input<'listModels'>, options?: RequestOptions): PagePromise<Item<'listModels'>, Output<'listModels'>>;
  /**
   * Read the price of a model.
   *
   * Percent-encode a slash in the name.
   */
  getPrice(input: Input<'getModelPrice'>, options?: RequestOptions): ApiPromise<Output<'getModelPrice'>>;
}

export interface ChatResource {
  /**
   * Complete a chat.
   *
   * With `stream: true` the response is a stream of chunks that ends with `data: [DONE]`.
   */
  create(input: Input<'createChatCompletion'> & { readonly stream: true }, options?: RequestOptions): StreamPromise<StreamItem<'createChatCompletion'>>;
  /**
   * Complete a chat.
   *
   * With `stream: true` the response is a stream of chunks that ends with `data: [DONE]`.
   */
  create(input: Input<'createChatCompletion'> & { readonly stream?: false | null | undefined }, options?: RequestOptions): ApiPromise<Output<'createChatCompletion'>>;
}

export interface CompletionsResource {
  /** Complete a text. */
  create(input: Input<'createCompletion'> & { readonly stream: true }, options?: RequestOptions): StreamPromise<StreamItem<'createCompletion'>>;
  /** Complete a text. */
  create(input: Input<'createCompletion'> & { readonly stream?: false | null | undefined }, options?: RequestOptions): ApiPromise<Output<'createCompletion'>>;
}

export interface ImagesResource {
  /** Generate images. */
  create(input: Input<'createImages'>, options?: RequestOptions): ApiPromise<Output<'createImages'>>;
  /** Generate images. */
  generate(input: Input<'generateImage'>, options?: RequestOptions): ApiPromise<Output<'generateImage'>>;
}

export interface AudioResource {
  /** Convert text to speech. */
  createSpeech(input: Input<'createSpeech'>, options?: RequestOptions): ApiPromise<Output<'createSpeech'>>;
  /** Generate speech. */
  generate(input: Input<'generateAudio'>, options?: RequestOptions): ApiPromise<Output<'generateAudio'>>;
}

export interface DocumentsResource {
  /** Read the OpenAPI document of v2. */
  getOpenapi(input?: Input<'getOpenapi'>, options?: RequestOptions): ApiPromise<Output<'getOpenapi'>>;
  /**
   * Read one of the OpenAPI documents without a key.
   *
   * Responds with 404 unless the operator has enabled it.
   */
  get(input: Input<'getOpenDocument'>, options?: RequestOptions): ApiPromise<Output<'getOpenDocument'>>;
}

export interface SupplierMachinesResource {
  /** List your machines. */
  list(input?: Input<'supplierListMachines'>, options?: RequestOptions): PagePromise<Item<'supplierListMachines'>, Output<'supplierListMachines'>>;
  /** Read a machine. */
  get(input: Input<'supplierGetMachine'>, options?: RequestOptions): ApiPromise<Output<'supplierGetMachine'>>;
  /**
   * List the transitions and faults of a machine.
   *
   * The newest 100, newest first.
   */
  listHistory(input: Input<'supplierGetMachineHistory'>, options?: RequestOptions): PagePromise<Item<'supplierGetMachineHistory'>, Output<'supplierGetMachineHistory'>>;
  /**
   * Price, list or unlist a machine.
   *
   * Existing rentals keep their frozen price.
   */
  update(input: Input<'supplierUpdateMachine'>, options?: RequestOptions): ApiPromise<Output<'supplierUpdateMachine'>>;
  /** Drain a machine: it accepts no new rentals. */
  drain(input: Input<'supplierDrainMachine'>, options?: RequestOptions): ApiPromise<Output<'supplierDrainMachine'>>;
  /** Return a machine to service that its supplier drained. */
  resume(input: Input<'supplierResumeMachine'>, options?: RequestOptions): ApiPromise<Output<'supplierResumeMachine'>>;
  /** Withdraw an empty machine. */
  withdraw(input: Input<'supplierWithdrawMachine'>, options?: RequestOptions): ApiPromise<Output<'supplierWithdrawMachine'>>;
}

export interface SupplierJoinTokensResource {
  /** Create a join token for machines. */
  create(input: Input<'supplierCreateJoinToken'>, options?: RequestOptions): ApiPromise<Output<'supplierCreateJoinToken'>>;
  /** List join tokens, without their secrets. */
  list(input?: Input<'supplierListJoinTokens'>, options?: RequestOptions): PagePromise<Item<'supplierListJoinTokens'>, Output<'supplierListJoinTokens'>>;
  /** Revoke a join token; machines that joined with it stay. */
  revoke(input: Input<'supplierRevokeJoinToken'>, options?: RequestOptions): ApiPromise<Output<'supplierRevokeJoinToken'>>;
}

export interface SupplierEnrolmentsResource {
  /** List enrolments, newest first. */
  list(input?: Input<'supplierListEnrolments'>, options?: RequestOptions): PagePromise<Item<'supplierListEnrolments'>, Output<'supplierListEnrolments'>>;
  /** Read an enrolment. */
  get(input: Input<'supplierGetEnrolment'>, options?: RequestOptions): ApiPromise<Output<'supplierGetEnrolment'>>;
}

export interface SupplierEarningsResource {
  /**
   * Read the earnings of your machines.
   *
   * Default: since the start of the month (UTC). A period is at most 366 days.
   */
  get(input?: Input<'supplierGetEarnings'>, options?: RequestOptions): ApiPromise<Output<'supplierGetEarnings'>>;
}

export interface SupplierStatementsResource {
  /** List statements, newest first. */
  list(input?: Input<'supplierListStatements'>, options?: RequestOptions): PagePromise<Item<'supplierListStatements'>, Output<'supplierListStatements'>>;
  /**
   * Read a statement with its lines.
   *
   * The amounts posted in a month (UTC), by machine. Its last minutes may be in the next statement.
   */
  get(input: Input<'supplierGetStatement'>, options?: RequestOptions): ApiPromise<Output<'supplierGetStatement'>>;
}

export interface SupplierPayoutsResource {
  /** List payouts, newest first. */
  list(input?: Input<'supplierListPayouts'>, options?: RequestOptions): PagePromise<Item<'supplierListPayouts'>, Output<'supplierListPayouts'>>;
  /**
   * Request a payout.
   *
   * The amount is reserved until the operator has paid or rejected it. A request above the payable amount is refused with 409.
   */
  request(input: Input<'supplierRequestPayout'>, options?: RequestOptions): ApiPromise<Output<'supplierRequestPayout'>>;
}

export interface SupplierResource {
  /** Apply to be a supplier. */
  apply(input: Input<'supplierApply'>, options?: RequestOptions): ApiPromise<Output<'supplierApply'>>;
  /** Read the status of the application or account. */
  getAccount(input?: Input<'supplierGetAccount'>, options?: RequestOptions): ApiPromise<Output<'supplierGetAccount'>>;
  readonly machines: SupplierMachinesResource;
  readonly joinTokens: SupplierJoinTokensResource;
  readonly enrolments: SupplierEnrolmentsResource;
  readonly earnings: SupplierEarningsResource;
  readonly statements: SupplierStatementsResource;
  readonly payouts: SupplierPayoutsResource;
}

export interface AdminOrganisationsResource {
  /** List all organisations. */
  list(input?: Input<'adminListOrganisations'>, options?: RequestOptions): PagePromise<Item<'adminListOrganisations'>, Output<'adminListOrganisations'>>;
  /**
   * Create an organisation with its first owner.
   *
   * The user with this email address becomes the owner; if there is none, one is created.
   */
  create(input: Input<'adminCreateOrganisation'>, options?: RequestOptions): ApiPromise<Output<'adminCreateOrganisation'>>;
  /** Read any organisation. */
  get(input: Input<'adminGetOrganisation'>, options?: RequestOptions): ApiPromise<Output<'adminGetOrganisation'>>;
  /** List the members of any organisation. */
  listMembers(input: Input<'adminListMembers'>, options?: RequestOptions): PagePromise<Item<'adminListMembers'>, Output<'adminListMembers'>>;
  /** Add a user to an organisation. */
  addMember(input: Input<'adminAddMember'>, options?: RequestOptions): ApiPromise<Output<'adminAddMember'>>;
  /** Read the balance of any organisation. */
  getBalance(input: Input<'adminGetBalance'>, options?: RequestOptions): ApiPromise<Output<'adminGetBalance'>>;
  /**
   * Suspend an organisation: its keys are refused within a second.
   *
   * Suspending twice returns the same result. `runningWork: stop` terminates its rentals and instances within seconds, without charging the rest of a term; volumes are kept. To terminate what `keep` left running, suspend again with `stop`.
   */
  suspend(input: Input<'adminSuspendOrganisation'>, options?: RequestOptions): ApiPromise<Output<'adminSuspendOrganisation'>>;
  /** Lift the suspension of an organisation. */
  resume(input: Input<'adminResumeOrganisation'>, options?: RequestOptions): ApiPromise<Output<'adminResumeOrganisation'>>;
  /**
   * Give an organisation credit.
   *
   * At most 10000000 USD per request.
   */
  grant(input: Input<'adminGrant'>, options?: RequestOptions): ApiPromise<Output<'adminGrant'>>;
  /**
   * Correct a balance, up or down.
   *
   * An adjustment that would take the balance below its floor is refused with 402. At most 10000000 USD per request.
   */
  adjust(input: Input<'adminAdjust'>, options?: RequestOptions): ApiPromise<Output<'adminAdjust'>>;
  /**
   * Refund part or all of a charge.
   *
   * Refunds of a charge that exceed it in total are refused with 409.
   */
  refund(input: Input<'adminRefund'>, options?: RequestOptions): ApiPromise<Output<'adminRefund'>>;
  /**
   * Set how far below zero a balance can go.
   *
   * Removing an overdraft that is in use is refused with 409. At most 10000000 USD.
   */
  setOverdraft(input: Input<'adminSetOverdraft'>, options?: RequestOptions): ApiPromise<Output<'adminSetOverdraft'>>;
  /** Allow new work again after a disputed payment was settled. */
  unfreeze(input: Input<'adminUnfreeze'>, options?: RequestOptions): ApiPromise<Output<'adminUnfreeze'>>;
}

export interface AdminEntitlementsResource {
  /** List the discounts of an organisation. */
  list(input: Input<'adminListEntitlements'>, options?: RequestOptions): PagePromise<Item<'adminListEntitlements'>, Output<'adminListEntitlements'>>;
  /** Entitle an organisation to a discount. */
  create(input: Input<'adminCreateEntitlement'>, options?: RequestOptions): ApiPromise<Output<'adminCreateEntitlement'>>;
  /** Withdraw an entitlement; running resources keep their frozen price. */
  revoke(input: Input<'adminRevokeEntitlement'>, options?: RequestOptions): ApiPromise<Output<'adminRevokeEntitlement'>>;
}

export interface AdminAuditLogResource {
  /** Read the audit log of all organisations, newest first. */
  list(input?: Input<'adminListAuditLog'>, options?: RequestOptions): PagePromise<Item<'adminListAuditLog'>, Output<'adminListAuditLog'>>;
}

export interface AdminOverviewResource {
  /**
   * Read revenue, utilisation, faults and pending decisions.
   *
   * Live mode only.
   */
  get(input?: Input<'adminGetOverview'>, options?: RequestOptions): ApiPromise<Output<'adminGetOverview'>>;
}

export interface AdminHealthResource {
  /**
   * Read what is broken now, the effect on tenants, and the runbooks.
   *
   * Answers within seconds while parts of the installation are down. Readings are at most five seconds old.
   */
  get(input?: Input<'adminGetHealth'>, options?: RequestOptions): ApiPromise<Output<'adminGetHealth'>>;
}

export interface AdminAuditReportsResource {
  /**
   * List ledger audits, newest first.
   *
   * Kept for 90 days.
   */
  list(input?: Input<'adminListAuditReports'>, options?: RequestOptions): PagePromise<Item<'adminListAuditReports'>, Output<'adminListAuditReports'>>;
  /** Read one audit with its findings. */
  get(input: Input<'adminGetAuditReport'>, options?: RequestOptions): ApiPromise<Output<'adminGetAuditReport'>>;
}

export interface AdminTransfersResource {
  /** List transfers of all organisations, newest first. */
  list(input?: Input<'adminListTransfers'>, options?: RequestOptions): PagePromise<Item<'adminListTransfers'>, Output<'adminListTransfers'>>;
  /** Reverse a transfer with its exact opposite. */
  reverse(input: Input<'adminReverse'>, options?: RequestOptions): ApiPromise<Output<'adminReverse'>>;
}

export interface AdminPricesResource {
  /** List the prices, newest first. */
  list(input?: Input<'adminListPrices'>, options?: RequestOptions): PagePromise<Item<'adminListPrices'>, Output<'adminListPrices'>>;
  /**
   * Set a price from a given time.
   *
   * The price list only grows: running resources keep the price frozen at their start.
   */
  create(input: Input<'adminCreatePrice'>, options?: RequestOptions): ApiPromise<Output<'adminCreatePrice'>>;
  /**
   * End a price, so that nothing new is sold at it.
   *
   * The price that it replaced applies again: an older price for the same subject, or a less specific one.
   */
  end(input: Input<'adminEndPrice'>, options?: RequestOptions): ApiPromise<Output<'adminEndPrice'>>;
}

export interface AdminReserveOptionsResource {
  /** List the available reserve options. */
  list(input?: Input<'adminListReserveOptions'>, options?: RequestOptions): PagePromise<Item<'adminListReserveOptions'>, Output<'adminListReserveOptions'>>;
  /**
   * Offer a reserved term.
   *
   * It replaces the existing option for the same machine type, GPU type, region and term.
   */
  create(input: Input<'adminCreateReserveOption'>, options?: RequestOptions): ApiPromise<Output<'adminCreateReserveOption'>>;
}

export interface AdminProvidersResource {
  /** List the configured providers and their regions. */
  list(input?: Input<'adminListProviders'>, options?: RequestOptions): PagePromise<Item<'adminListProviders'>, Output<'adminListProviders'>>;
  /**
   * Enable or disable a provider or some of its regions.
   *
   * Disabling stops new rentals only.
   */
  update(input: Input<'adminUpdateProvider'>, options?: RequestOptions): ApiPromise<Output<'adminUpdateProvider'>>;
}

export interface AdminClustersResource {
  /**
   * List clusters.
   *
   * Removed clusters are listed only if you filter by their status.
   */
  list(input?: Input<'adminListClusters'>, options?: RequestOptions): PagePromise<Item<'adminListClusters'>, Output<'adminListClusters'>>;
  /**
   * Register the endpoint of a compute engine.
   *
   * Its nodes and GPUs are read from the engine as soon as a worker reaches it.
   */
  create(input: Input<'adminCreateCluster'>, options?: RequestOptions): ApiPromise<Output<'adminCreateCluster'>>;
  /** Remove a cluster without running work. */
  remove(input: Input<'adminRemoveCluster'>, options?: RequestOptions): ApiPromise<Output<'adminRemoveCluster'>>;
}

export interface AdminNodesResource {
  /**
   * List nodes with their GPUs.
   *
   * Removed nodes are listed only if you filter by their status.
   */
  list(input?: Input<'adminListNodes'>, options?: RequestOptions): PagePromise<Item<'adminListNodes'>, Output<'adminListNodes'>>;
  /** Read a node. */
  get(input: Input<'adminGetNode'>, options?: RequestOptions): ApiPromise<Output<'adminGetNode'>>;
  /** Drain a node: running work continues, new work is placed elsewhere. */
  drain(input: Input<'adminDrainNode'>, options?: RequestOptions): ApiPromise<Output<'adminDrainNode'>>;
  /** Return a drained or quarantined node to service. */
  resume(input: Input<'adminResumeNode'>, options?: RequestOptions): ApiPromise<Output<'adminResumeNode'>>;
  /** Quarantine a node until an operator has checked it. */
  quarantine(input: Input<'adminQuarantineNode'>, options?: RequestOptions): ApiPromise<Output<'adminQuarantineNode'>>;
  /**
   * Remove an empty node from the fleet.
   *
   * Drain it first. Its name is free for a new node when the engine no longer lists the old one.
   */
  remove(input: Input<'adminRemoveNode'>, options?: RequestOptions): ApiPromise<Output<'adminRemoveNode'>>;
  /**
   * Write off a node whose host never returns, with everything on it.
   *
   * Refused with `HOST_ANSWERS` while its host responds. Every machine on the node is written off, then the node is removed. The node stays quarantined while a rental with machines on other hosts uses its GPUs: repeat the request when those machines are removed.
   */
  writeOff(input: Input<'adminWriteOffNode'>, options?: RequestOptions): ApiPromise<Output<'adminWriteOffNode'>>;
  /** List the transitions of a node, newest first. */
  listTransitions(input: Input<'adminListNodeTransitions'>, options?: RequestOptions): PagePromise<Item<'adminListNodeTransitions'>, Output<'adminListNodeTransitions'>>;
  /**
   * Take a single GPU out of service, or return it.
   *
   * A tenant who rents the GPU keeps it; it is not rented again until it returns to service.
   */
  markGpu(input: Input<'adminMarkGpu'>, options?: RequestOptions): ApiPromise<Output<'adminMarkGpu'>>;
}

export interface AdminMaintenanceWindowsResource {
  /** List maintenance windows, newest first. */
  list(input?: Input<'adminListMaintenanceWindows'>, options?: RequestOptions): PagePromise<Item<'adminListMaintenanceWindows'>, Output<'adminListMaintenanceWindows'>>;
  /**
   * Announce maintenance; the time a machine is unavailable is not billed.
   *
   * Organisations with resources on the nodes are notified at once, and again when the window starts and ends. The nodes accept no new work from `drainBeforeSeconds` before the start until the end. They then return to service, unless they were drained or quarantined in the meantime.
   */
  create(input: Input<'adminCreateMaintenanceWindow'>, options?: RequestOptions): ApiPromise<Output<'adminCreateMaintenanceWindow'>>;
  /** Cancel announced maintenance, or end it early. */
  cancel(input: Input<'adminCancelMaintenanceWindow'>, options?: RequestOptions): ApiPromise<Output<'adminCancelMaintenanceWindow'>>;
}

export interface AdminReservationRequestsResource {
  /** List requests for large reservations, newest first. */
  list(input?: Input<'adminListReservationRequests'>, options?: RequestOptions): PagePromise<Item<'adminListReservationRequests'>, Output<'adminListReservationRequests'>>;
}

export interface AdminRentalsResource {
  /**
   * List rentals and instances of all organisations, newest first.
   *
   * Ended rentals are listed only if you filter by their status.
   */
  list(input?: Input<'adminListRentals'>, options?: RequestOptions): PagePromise<Item<'adminListRentals'>, Output<'adminListRentals'>>;
  /** Hand over a private cloud under contract; it is never metered by GPU. */
  createPrivateCloud(input: Input<'adminCreatePrivateCloudRental'>, options?: RequestOptions): ApiPromise<Output<'adminCreatePrivateCloudRental'>>;
  /** Terminate any rental. */
  terminate(input: Input<'adminTerminateRental'>, options?: RequestOptions): ApiPromise<Output<'adminTerminateRental'>>;
  /**
   * Write off a rental whose host never returns.
   *
   * Refused with `HOST_ANSWERS` while the hosts of all its machines respond. The machines and their data are declared lost, the rental ends, and their nodes are quarantined. If the host returns, its machines are removed as orphans before the node can be resumed. The request is idempotent.
   */
  writeOff(input: Input<'adminWriteOffRental'>, options?: RequestOptions): ApiPromise<Output<'adminWriteOffRental'>>;
}

export interface AdminVolumesResource {
  /**
   * Write off a volume whose storage node never returns.
   *
   * Refused with `HOST_ANSWERS` while its storage node responds. The data and snapshots are declared lost without retention, rentals are detached, and the volume is deleted. If the storage node returns, it deletes its copy of the volume when a worker reaches it.
   */
  writeOff(input: Input<'adminWriteOffVolume'>, options?: RequestOptions): ApiPromise<Output<'adminWriteOffVolume'>>;
}

export interface AdminModelsResource {
  /** List all models of the catalog, including disabled ones. */
  list(input?: Input<'adminListModels'>, options?: RequestOptions): PagePromise<Item<'adminListModels'>, Output<'adminListModels'>>;
  /** Add a model to the catalog. */
  create(input: Input<'adminCreateModel'>, options?: RequestOptions): ApiPromise<Output<'adminCreateModel'>>;
  /**
   * Change, disable or enable a model.
   *
   * Percent-encode a slash in the name.
   */
  update(input: Input<'adminUpdateModel'>, options?: RequestOptions): ApiPromise<Output<'adminUpdateModel'>>;
}

export interface AdminDeploymentsResource {
  /** List deployments with their health. */
  list(input?: Input<'adminListDeployments'>, options?: RequestOptions): PagePromise<Item<'adminListDeployments'>, Output<'adminListDeployments'>>;
  /** Register an engine that serves a model. */
  create(input: Input<'adminCreateDeployment'>, options?: RequestOptions): ApiPromise<Output<'adminCreateDeployment'>>;
  /** Change, disable or enable a deployment. */
  update(input: Input<'adminUpdateDeployment'>, options?: RequestOptions): ApiPromise<Output<'adminUpdateDeployment'>>;
  /** Delete a deployment; running streams finish. */
  delete(input: Input<'adminDeleteDeployment'>, options?: RequestOptions): ApiPromise<Output<'adminDeleteDeployment'>>;
}

export interface AdminSuppliersResource {
  /** List suppliers and applications. */
  list(input?: Input<'adminListSuppliers'>, options?: RequestOptions): PagePromise<Item<'adminListSuppliers'>, Output<'adminListSuppliers'>>;
  /**
   * Approve a supplier.
   *
   * The fee applies to new rentals. Approving again changes the fee and lifts a suspension.
   */
  approve(input: Input<'adminApproveSupplier'>, options?: RequestOptions): ApiPromise<Output<'adminApproveSupplier'>>;
  /**
   * Reject an application, or suspend an approved supplier.
   *
   * Machines of a suspended supplier are not listed or rented anymore; existing rentals continue.
   */
  reject(input: Input<'adminRejectSupplier'>, options?: RequestOptions): ApiPromise<Output<'adminRejectSupplier'>>;
}

export interface AdminMachinesResource {
  /** List suppliers’ machines. */
  list(input?: Input<'adminListMachines'>, options?: RequestOptions): PagePromise<Item<'adminListMachines'>, Output<'adminListMachines'>>;
  /** Approve a supplier’s machine for the marketplace. */
  approve(input: Input<'adminApproveMachine'>, options?: RequestOptions): ApiPromise<Output<'adminApproveMachine'>>;
  /**
   * Reject a supplier’s machine, including an approved one.
   *
   * It is not listed or rented anymore; existing rentals continue.
   */
  reject(input: Input<'adminRejectMachine'>, options?: RequestOptions): ApiPromise<Output<'adminRejectMachine'>>;
}

export interface AdminPayoutsResource {
  /** List payouts of all suppliers, newest first. */
  list(input?: Input<'adminListPayouts'>, options?: RequestOptions): PagePromise<Item<'adminListPayouts'>, Output<'adminListPayouts'>>;
  /**
   * Record a payout as paid, or reject it.
   *
   * A payout is settled once: repeating the same outcome returns the payout, and the other outcome is refused with 409. The supplier sees the reason of a rejection.
   */
  settle(input: Input<'adminSettlePayout'>, options?: RequestOptions): ApiPromise<Output<'adminSettlePayout'>>;
}

export interface AdminResource {
  readonly organisations: AdminOrganisationsResource;
  readonly entitlements: AdminEntitlementsResource;
  readonly auditLog: AdminAuditLogResource;
  readonly overview: AdminOverviewResource;
  readonly health: AdminHealthResource;
  readonly auditReports: AdminAuditReportsResource;
  readonly transfers: AdminTransfersResource;
  readonly prices: AdminPricesResource;
  readonly reserveOptions: AdminReserveOptionsResource;
  readonly providers: AdminProvidersResource;
  readonly clusters: AdminClustersResource;
  readonly nodes: AdminNodesResource;
  readonly maintenanceWindows: AdminMaintenanceWindowsResource;
  readonly reservationRequests: AdminReservationRequestsResource;
  readonly rentals: AdminRentalsResource;
  readonly volumes: AdminVolumesResource;
  readonly models: AdminModelsResource;
  readonly deployments: AdminDeploymentsResource;
  readonly suppliers: AdminSuppliersResource;
  readonly machines: AdminMachinesResource;
  readonly payouts: AdminPayoutsResource;
}

/** The resources of a client. */
export interface Resources {
  readonly me: MeResource;
  readonly organisations: OrganisationsResource;
  readonly invitations: InvitationsResource;
  readonly members: MembersResource;
  readonly keys: KeysResource;
  readonly sshKeys: SshKeysResource;
  readonly auditLog: AuditLogResource;
  readonly operations: OperationsResource;
  readonly events: EventsResource;
  readonly webhooks: WebhooksResource;
  readonly installation: InstallationResource;
  readonly catalog: CatalogResource;
  readonly options: OptionsResource;
  readonly rentals: RentalsResource;
  readonly volumes: VolumesResource;
  readonly marketplace: MarketplaceResource;
  readonly balance: BalanceResource;
  readonly ledger: LedgerResource;
  readonly invoices: InvoicesResource;
  readonly usage: UsageResource;
  readonly limits: LimitsResource;
  readonly budgets: BudgetsResource;
  readonly topUps: TopUpsResource;
  readonly models: ModelsResource;
  readonly chat: ChatResource;
  readonly completions: CompletionsResource;
  readonly images: ImagesResource;
  readonly audio: AudioResource;
  readonly documents: DocumentsResource;
  readonly supplier: SupplierResource;
  readonly admin: AdminResource;
}
