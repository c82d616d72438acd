/** The contracts of real APIs, and how to write down another one. */

export { anthropic } from "./anthropic.js";
export { azure } from "./azure.js";
export { checkoutCom } from "./checkout-com.js";
export { circle } from "./circle.js";
export { coinbase } from "./coinbase.js";
export { type AnswerRule, defineProfile, type Meaning, type ProfileOptions } from "./define.js";
export { dwolla } from "./dwolla.js";
export { fineract } from "./fineract.js";
export { github } from "./github.js";
export { gocardless } from "./gocardless.js";
export { ietf } from "./ietf.js";
export { increase } from "./increase.js";
export { klarna } from "./klarna.js";
export { mercadoPago } from "./mercado-pago.js";
export { modernTreasury } from "./modern-treasury.js";
export { mollie } from "./mollie.js";
export { openai } from "./openai.js";
export { paypal } from "./paypal.js";
export { plaid } from "./plaid.js";
export { razorpayX } from "./razorpay-x.js";
export { resend } from "./resend.js";
export { sendgrid } from "./sendgrid.js";
export { square } from "./square.js";
export { stripe } from "./stripe.js";
export { wise } from "./wise.js";
export { yookassa } from "./yookassa.js";
