import type { ResponseBody, Contract, PlacementBlocker } from '@millrace/contract';
import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { decodeCursor, requirePrincipal, toPage, type HttpServer } from '@millrace/platform/http';
import { toCents, toNearestUsdNumber, toPercentage } from '@millrace/platform/money';
import { z } from 'zod';
import { pageById, positionFromCursor } from '../../identity/index.ts';
import type { Obstacle } from './placement-explanation.ts';
import { OfferService, type Explanation, type PricedOffer, type PlacementBody } from './offers.service.ts';
import type { ReserveOffer } from './reserve-offers.ts';

export interface OfferRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  readonly clock: Timer;
}

type Operations = Contract['operations'];
type WireRentalOption = ResponseBody<Operations['listRentalOptions']>['items'][number];
type WireReserveOption = ResponseBody<Operations['listReserveOptions']>['items'][number];
type WireExplanation = ResponseBody<Operations['explainPlacement']>;

/** Offers change between pages, so a cursor names the last offer instead of a number. */
const cursorShape = z.object({ offer: z.string().min(1).max(200) });

/** Routes of tenants: rental options, reserve options and the explanation of a placement. */
export function serveOffers({ server, operations, db, clock }: OfferRoutes): void {
  const offers = new OfferService({ db, clock });
  server.serve(operations.listRentalOptions, async ({ query, context }) => {
    const { limit, cursor, ...filter } = query;
    const after = cursor === undefined ? '' : decodeCursor(cursor, cursorShape).offer;
    const all = await offers.rentalOffers(requirePrincipal(context), filter);
    const rows = sortOffers(all).filter(({ position }) => position > after);
    return toPage({
      rows,
      limit,
      toItem: ({ offer }) => toWireRentalOption(offer),
      positionOf: ({ position }) => ({ offer: position }),
    });
  });

  server.serve(operations.listReserveOptions, async ({ query, context }) => {
    const { limit, cursor, ...filter } = query;
    const after = positionFromCursor('rso', cursor);
    const all = await offers.reserveOffers(requirePrincipal(context), filter);
    const rows = all
      .map((offer) => ({ id: offer.option.id, offer }))
      .filter(({ id }) => after === null || id < after);
    return pageById(rows, limit, ({ offer }) => toWireReserveOption(offer));
  });

  server.serve(operations.explainPlacement, async ({ body, context }) => {
    const principal = requirePrincipal(context);
    return toWireExplanation(await offers.explain(principal, body), body, principal.mode);
  });
}

/** Sorted by the position that the cursors use. */
export function sortOffers(
  offers: readonly PricedOffer[],
): readonly { readonly offer: PricedOffer; readonly position: string }[] {
  return offers
    .map((offer) => ({ offer, position: positionOf(offer) }))
    .toSorted((one, other) => (one.position < other.position ? -1 : 1));
}

const COUNT_DIGITS = 6;

function positionOf({ region, machineType, gpuType, connectionType, gpuCount }: PricedOffer): string {
  const count = String(gpuCount).padStart(COUNT_DIGITS, '0');
  return `${region} ${machineType} ${gpuType} ${connectionType} ${count}`;
}

export function toWireRentalOption(offer: PricedOffer): WireRentalOption {
  const { mode: _mode, costPerHour, liveCostPerHour, nodes, ...shown } = offer;
  return {
    ...shown,
    costPerHour: toNearestUsdNumber(costPerHour),
    costPerHourCents: Number(toCents(costPerHour, 'up')),
    pricePerHourNanoUsd: String(costPerHour),
    ...(liveCostPerHour === null ? {} : { livePricePerHourNanoUsd: String(liveCostPerHour) }),
    nodes: nodes.map((node) => ({ ...node })),
  };
}

export function toWireReserveOption({
  option,
  perHour,
  originalPerHour,
  enabled,
}: ReserveOffer): WireReserveOption {
  return {
    id: option.id,
    machineType: option.machineType,
    // The contract allows operators no other values.
    gpuType: option.gpuType as WireReserveOption['gpuType'],
    region: option.region as WireReserveOption['region'],
    termPeriodDays: option.termPeriodDays,
    discountPercentage: toPercentage(option.discount),
    costPerHour: toNearestUsdNumber(perHour),
    originalCostPerHour: toNearestUsdNumber(originalPerHour),
    enabled,
    earlyTerminationRefundPercentage: toPercentage(option.refund),
  };
}

function toWireExplanation(explanation: Explanation, body: PlacementBody, mode: Mode): WireExplanation {
  const { placeable, nodesConsidered, nodesFitting, costPerHour } = explanation;
  return {
    placeable,
    nodesConsidered,
    nodesFitting,
    obstacles: explanation.obstacles.map((obstacle) => ({
      code: obstacle.code,
      message: obstacleMessage(obstacle, body, mode),
      nodeCount: obstacle.nodeCount,
    })),
    costPerHour: costPerHour === null ? null : toNearestUsdNumber(costPerHour),
    capacityExpectedAt: explanation.capacityExpectedAt?.toISOString() ?? null,
    alternatives: explanation.alternatives.map(({ pool, gpuCount, totalAvailable, costPerHour: cost }) => ({
      region: pool.region,
      gpuType: pool.gpuType,
      gpuCount,
      networkType: pool.connectionType,
      costPerHour: toNearestUsdNumber(cost),
      totalAvailable,
    })),
  };
}

function obstacleMessage({ code }: Obstacle, body: PlacementBody, mode: Mode): string {
  const isMetal = body.rentalType === 'bare-metal';
  const messages: Readonly<Record<PlacementBlocker, string>> = {
    REGION_NOT_OFFERED: notOfferedMessage(body, mode),
    GPU_COUNT_NOT_OFFERED: 'Bare metal is rented by whole hosts of 8 GPUs. Request 8, 16, 24 and so on.',
    NO_NODES_IN_REGION: `${body.region} has no hosts for ${isMetal ? 'bare metal' : 'virtual machines'}. See rental-options for other regions.`,
    REGION_DISABLED: 'The operator accepts no new rentals in this region at the moment.',
    CLUSTER_SILENT: 'The engine of these hosts does not respond, so they cannot be rented.',
    CLUSTER_UNWATCHED: 'These hosts have not been checked for five minutes, so they cannot be rented.',
    NODE_REGISTERING: 'These hosts are new, and their hardware is not known yet.',
    NODE_OFFLINE: 'These hosts are unreachable.',
    NODE_DRAINING: 'These hosts accept no new rentals before maintenance or removal.',
    NODE_QUARANTINED: 'These hosts are quarantined, after a failure or by the operator.',
    WRONG_GPU_TYPE: `The GPUs of these hosts are not ${body.gpuType}.`,
    WRONG_NETWORK: `These hosts are not connected by ${body.networkType}.`,
    CUDA_TOO_OLD: `The driver of these hosts does not support ${body.cudaVersion ?? 'this CUDA'}.`,
    NODE_TOO_SMALL: isMetal
      ? 'These hosts do not have exactly 8 GPUs.'
      : `These hosts have fewer than ${body.gpuCount} GPUs, and a virtual machine runs on one host.`,
    NO_FREE_GPUS: isMetal
      ? 'These hosts are not completely free.'
      : `These hosts have fewer than ${body.gpuCount} free GPUs.`,
    FABRIC_TOO_SMALL: `These hosts are free, but too few of them share one fast network for ${body.gpuCount} GPUs.`,
  };
  return messages[code];
}

function notOfferedMessage({ rentalType, region }: PlacementBody, mode: Mode): string {
  if (mode === 'test') {
    return 'Test keys rent virtual machines in mock-region and bare metal in the regions that offer it. Choose one of those.';
  }
  const what = rentalType === 'bare-metal' ? 'Bare metal' : 'Virtual machines';
  const why =
    region === 'mock-region' ? 'The mock region is for test keys' : `${what} cannot be rented in ${region}`;
  return `${why}. See rental-options for what can be rented, and where.`;
}
